//! Tables that fit the terminal, whole when piped, and one JSON document with `--json`.

mod layout;

use std::io::IsTerminal;

use anstyle::{AnsiColor, Reset};
use clap::Args;
use ledger::Ledger;
use serde_json::{Value, json};
use textwrap::Options;

pub(crate) use self::layout::{Column, id, number, text, word};
use super::stdout::{plain, say};
use crate::{config, database, exit::Exit};

/// Options of every command that reads the database: its address, and the form of the output.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonArgs {
    /// Where PostgreSQL is.
    #[arg(
        long,
        env = "DATABASE_URL",
        hide_env_values = true,
        value_name = "URL",
        global = true,
        help_heading = GLOBAL,
        display_order = 900
    )]
    database_url: Option<String>,
    /// The key under which secrets are stored, as `serve` has it.
    #[arg(
        long,
        env = "LISTEN_SECRETS_KEY",
        hide = true,
        hide_env_values = true,
        value_name = "KEY",
        global = true
    )]
    secrets_key: Option<String>,
    /// Print one JSON document.
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 901)]
    pub(crate) json: bool,
}

/// The heading of what every command takes: it stands below a command's own flags.
pub(crate) const GLOBAL: &str = "Global options";

impl CommonArgs {
    /// The ledger of the database that was named, once that database has answered.
    ///
    /// # Errors
    /// When no database is named, what is named is no database's URL, or no server answers there.
    pub(crate) async fn ledger(&self) -> anyhow::Result<Ledger> {
        let secrets =
            config::secrets(self.secrets_key.as_deref()).map_err(|wrong| Exit::Usage(wrong.to_string()))?;
        let settings = ledger::Settings { connections: 4, secrets, ..ledger::Settings::default() };
        let options = database::options(self.database_url.as_deref())?;
        database::is_there(&options).await?;
        Ok(Ledger::new(options, settings))
    }

    /// Whether there is a key to store secrets under.
    pub(crate) fn has_secrets_key(&self) -> bool {
        self.secrets_key.is_some()
    }
}

/// Prints rows under headings, fitted to the terminal; elsewhere, everything.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print(columns: &[Column], rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    let width = std::io::stdout().is_terminal().then(textwrap::termwidth);
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().map(plain).collect()).collect();
    let fitted = layout::fit(columns, &rows, width);
    for cells in fitted.lines {
        let cells: Vec<String> = cells.into_iter().map(colored).collect();
        say!("{}", layout::joined(&cells).trim_end())?;
    }
    if !fitted.left_out.is_empty() {
        let names = fitted.left_out.join(", ");
        let note = format!("no room for: {names}; a wider terminal, a pipe and --json show all");
        anstream::eprintln!("{}", wrapped("", &note));
    }
    Ok(())
}

/// A status stands out on a terminal; elsewhere it is its word.
fn colored(cell: String) -> String {
    let color = match cell.trim() {
        "dead_letter" | "died_again" | "refused" => AnsiColor::Red,
        "blocked_byok" | "paused" | "failing" => AnsiColor::Yellow,
        "leased" | "running" => AnsiColor::Cyan,
        "completed" | "done" => AnsiColor::Green,
        _ => return cell,
    };
    format!("{}{cell}{Reset}", color.on_default())
}

/// Prints a line of a page about one object: label and value. On a terminal, what does not fit goes on below.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn field(name: &str, value: &str) -> anyhow::Result<()> {
    say!("{}", wrapped(&format!("{name:<18} "), &plain(value)))
}

/// A text behind a label; on a terminal, its further lines stand below its first one.
pub(crate) fn wrapped(label: &str, text: &str) -> String {
    match std::io::stdout().is_terminal() {
        true => hanging(label, text, textwrap::termwidth()),
        false => format!("{label}{text}").trim_end().to_owned(),
    }
}

/// A text behind a label in lines of at most `width`, but for words that are longer; lines of the text stay lines.
pub(crate) fn hanging(label: &str, text: &str, width: usize) -> String {
    let below = " ".repeat(textwrap::core::display_width(label));
    let options = Options::new(width)
        .initial_indent(label)
        .subsequent_indent(&below)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options).trim_end().to_owned()
}

/// Prints one JSON document.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_json(value: &Value) -> anyhow::Result<()> {
    say!("{value:#}")
}

/// Prints a page of a list as one JSON document: its items under their name, and the cursor of the next page, which
/// `--after` takes; null on the last one.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_page(name: &str, items: Vec<Value>, next: Option<&str>) -> anyhow::Result<()> {
    print_json(&json!({ name: items, "next": next }))
}

/// Says on stderr how to go on: stdout stays one list.
pub(crate) fn say_next(next: Option<&str>) {
    if let Some(next) = next {
        anstream::eprintln!("more: --after {next}");
    }
}

/// Prints one JSON document in one line, for what goes on.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_line(value: &Value) -> anyhow::Result<()> {
    say!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_goes_on_below_itself_and_no_word_is_broken() {
        let id = "fj_0123456789abcdef0123456789abcdef";
        let shown = hanging("why  ", &format!("it waits for {id} and then runs"), 30);
        assert_eq!(shown, format!("why  it waits for\n     {id}\n     and then runs"));
    }
}
