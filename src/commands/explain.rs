//! `listen explain`: what a code, a state, an alert or a term means, and what to do about it.

use std::{io::IsTerminal, process::ExitCode};

use clap::Args;
use pulldown_cmark::{Event, Tag, TagEnd};
use serde_json::json;

use super::{stdout::say, table::print_json};
use crate::{
    exit::Exit,
    explained::{self, Explanation},
    terminal::hanging,
};

/// The longest line that is pleasant to read.
const WIDEST: usize = 100;

/// Explain a failure code, a state, an error class, an alert or a term; without a word, list all of them.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// Word to explain, for example model_rejected, backing_off or ListenModelsFailing.
    word: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Explains one word, or lists all.
pub(crate) fn run(explain: &Explain) -> anyhow::Result<ExitCode> {
    let word = explain.word.join(" ");
    if word.is_empty() {
        list(explain.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(found) = explained::find(&word) else {
        let hint = match explained::near(&word).as_slice() {
            [] => "`listen explain` lists what is".to_owned(),
            near => format!("is it one of {}?", near.join(", ")),
        };
        return Err(Exit::NotFound(format!("{word} is not explained; {hint}")).into());
    };
    match explain.json {
        true => print_json(&to_json(found, true)),
        false => {
            say!("{} ({})\n\n{}", found.word, found.section.to_lowercase(), rendered(&found.text, width()))
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) -> anyhow::Result<()> {
    let all = explained::all();
    if as_json {
        return print_json(&all.iter().map(|found| to_json(found, false)).collect());
    }
    let longest = all.iter().map(|found| found.word.len()).max().unwrap_or_default();
    let mut section = "";
    for found in all {
        if found.section != section {
            let space = if section.is_empty() { "" } else { "\n" };
            section = &found.section;
            say!("{space}{section}")?;
        }
        let label = format!("  {:<longest$}  ", found.word);
        say!("{}", hanging(&label, &found.short, width()))?;
    }
    Ok(())
}

fn to_json(found: &Explanation, whole: bool) -> serde_json::Value {
    let mut value =
        json!({ "word": found.word, "also": found.also, "section": found.section, "short": found.short });
    if whole {
        value["text"] = json!(found.text);
    }
    value
}

fn width() -> usize {
    let width = if std::io::stdout().is_terminal() { textwrap::termwidth() } else { WIDEST };
    width.clamp(40, WIDEST)
}

/// The page for a terminal: paragraphs fitted to the width, lists indented, commands as they are typed.
fn rendered(text: &str, width: usize) -> String {
    let mut page = Page { width, ..Page::default() };
    for event in explained::events(text) {
        page.take(event);
    }
    page.flush();
    page.out.trim_end().to_owned()
}

#[derive(Default)]
struct Page {
    width: usize,
    out: String,
    line: String,
    /// How many lists stand around, and the number of the next item of each that is numbered.
    lists: Vec<Option<u64>>,
    /// What stands before the next paragraph: an item's mark.
    mark: String,
    in_code: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::List(first)) => {
                self.flush();
                self.lists.push(first);
            }
            Event::End(TagEnd::List(_)) => {
                self.flush();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.space();
                }
            }
            Event::Start(Tag::Item) => {
                self.flush();
                self.mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
            }
            Event::Start(Tag::CodeBlock(_)) => {
                self.flush();
                self.in_code = true;
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_code = false;
                self.space();
            }
            Event::Text(text) if self.in_code => {
                let indent = " ".repeat(self.indent() + 4);
                for line in text.lines() {
                    self.out.push_str(format!("{indent}{line}").trim_end());
                    self.out.push('\n');
                }
            }
            Event::Text(text) | Event::Code(text) => self.line.push_str(&text),
            Event::SoftBreak | Event::HardBreak => self.line.push(' '),
            Event::End(TagEnd::TableCell) => self.line.push_str("  "),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => {
                self.flush();
                self.space();
            }
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => self.flush(),
            _ => {}
        }
    }

    fn indent(&self) -> usize {
        self.lists.len().saturating_sub(1) * 2
    }

    /// Writes the paragraph that was gathered.
    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() {
            return;
        }
        let indent = " ".repeat(self.indent());
        let mark = std::mem::take(&mut self.mark);
        let hang = if self.lists.is_empty() { 0 } else { 2.max(mark.len()) };
        let first = match mark.as_str() {
            "" => format!("{indent}{}", " ".repeat(hang)),
            mark => format!("{indent}{mark}"),
        };
        self.out.push_str(&hanging(&first, line.trim(), self.width));
        self.out.push('\n');
    }

    /// An empty line, one at most.
    fn space(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_pages_fit_80_columns_except_commands() {
        for found in explained::all() {
            let page = rendered(&found.text, 80);
            assert!(!page.is_empty(), "{}", found.word);
            for line in page.lines().filter(|line| !line.starts_with("    ")) {
                assert!(line.chars().count() <= 80, "{}: {line}", found.word);
                assert!(!line.ends_with("conversation-"), "{}: a path is broken: {line}", found.word);
            }
            assert!(!page.contains("](") && !page.contains("```"), "{}: {page}", found.word);
        }
    }

    #[test]
    fn explain_pages_indent_lists_and_keep_commands() {
        let page = rendered(
            "## Do\n\n1. One `x`, and\n   more.\n\n   ```sh\n   listen  jobs\n   ```\n\n2. [Two](b.md).\n",
            20,
        );
        assert_eq!(page, "Do\n\n1. One x, and more.\n\n    listen  jobs\n\n2. Two.");
    }
}
