//! What operators meet as one word (a failure code, a state, an error class, an alert, a term), explained by the very pages of
//! `docs/`: they are built into the program, so that `listen explain`, the console and the repository say the same.

mod pages;

use std::{borrow::Cow, sync::LazyLock};

use pulldown_cmark::{Event, Options, Parser, Tag};

use self::pages::{FAILURES, GLOSSARY, RUNBOOKS};

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An entry of the glossary.
    Term,
    /// A failure code.
    Failure,
    /// An alert, with its runbook.
    Alert,
}

/// One explained word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// The word itself.
    pub(crate) word: String,
    /// Other spellings that find it.
    pub(crate) also: Vec<String>,
    pub(crate) kind: Kind,
    /// The heading of the glossary under which it stands; of pages, what they are.
    pub(crate) section: String,
    /// Its meaning in one sentence.
    pub(crate) short: String,
    /// The page in Markdown, without its heading; of a term, its meaning.
    pub(crate) text: Cow<'static, str>,
}

static ALL: LazyLock<Vec<Explanation>> = LazyLock::new(|| {
    let page = |kind, section: &str, (word, text): &(&'static str, &'static str)| {
        let text = text.split_once("\n\n").map_or(*text, |(_, rest)| rest);
        Explanation {
            word: (*word).to_owned(),
            also: Vec::new(),
            kind,
            section: section.to_owned(),
            short: first_sentence(text),
            text: text.into(),
        }
    };
    let failures = FAILURES.iter().map(|it| page(Kind::Failure, "Failure codes", it));
    let alerts = RUNBOOKS.iter().map(|it| page(Kind::Alert, "Alerts", it));
    terms(GLOSSARY).into_iter().chain(failures).chain(alerts).collect()
});

/// Everything that is explained, in the order of the pages.
pub(crate) fn all() -> &'static [Explanation] {
    &ALL
}

/// The explanation of a word, however it is spelled: `dead letter`, `dead_letter` and `Dead-Letter` are one.
pub(crate) fn find(word: &str) -> Option<&'static Explanation> {
    let wanted = plain(word);
    let names =
        |it: &&Explanation| std::iter::once(&it.word).chain(&it.also).any(|name| plain(name) == wanted);
    ALL.iter().find(names)
}

/// Words that hold a part of this one, as suggestions for a misspelt word: the closest first, five at most.
pub(crate) fn near(word: &str) -> Vec<&'static str> {
    let wanted = plain(word);
    let parts: Vec<&str> = wanted.split('_').filter(|part| part.len() > 2).collect();
    let hits = |it: &Explanation| parts.iter().filter(|part| plain(&it.word).contains(**part)).count();
    let mut found: Vec<(usize, &str)> =
        ALL.iter().map(|it| (hits(it), it.word.as_str())).filter(|(hits, _)| *hits > 0).collect();
    found.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    found.into_iter().map(|(_, word)| word).take(5).collect()
}

/// A link that leads to an explained word: `../failures/model_timeout.md`, `ListenOrphans.md`.
pub(crate) fn linked(target: &str) -> Option<&'static Explanation> {
    let file = target.split('#').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    file.strip_suffix(".md").and_then(find).filter(|it| it.kind != Kind::Term)
}

/// The Markdown of a page.
pub(crate) fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

fn plain(word: &str) -> String {
    word.trim().trim_matches('`').to_lowercase().replace([' ', '-'], "_")
}

/// The rows of the glossary's tables.
fn terms(page: &str) -> Vec<Explanation> {
    let (mut section, mut found) = ("Terms".to_owned(), Vec::new());
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_owned();
        }
        let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        let Some((names, meaning)) = cells.and_then(|line| line.split_once(" | ")) else { continue };
        let mut names = names.split([',', '(', ')']).map(|name| name.trim().trim_matches('`').to_owned());
        match names.next() {
            Some(word) if word != "Word" => found.push(Explanation {
                word,
                also: names.filter(|name| !name.is_empty()).collect(),
                kind: Kind::Term,
                section: section.clone(),
                short: unmarked(meaning),
                text: meaning.to_owned().into(),
            }),
            _ => {}
        }
    }
    found
}

/// The first sentence of the first paragraph that is no heading.
fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").find(|part| !part.starts_with('#')).unwrap_or_default();
    let line = unmarked(&paragraph.replace('\n', " "));
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    line.get(..end).unwrap_or(&line).to_owned()
}

/// Text without its marks.
fn unmarked(text: &str) -> String {
    let words = events(text).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.into_string()),
        Event::SoftBreak | Event::HardBreak | Event::Start(Tag::Item) => Some(" ".to_owned()),
        _ => None,
    });
    words.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use job::{ErrorClass, FailureCode};

    use super::*;

    fn kind(word: &str) -> Option<Kind> {
        find(word).map(|it| it.kind)
    }

    #[test]
    fn every_failure_code_error_class_and_state_is_explained() {
        for code in FailureCode::ALL {
            assert_eq!(kind(code.as_str()), Some(Kind::Failure), "{code}: docs/failures/{code}.md");
        }
        for class in ErrorClass::ALL {
            assert_eq!(kind(class.as_str()), Some(Kind::Term), "{class}: docs/glossary.md");
        }
        for state in ["queued", "leased", "blocked_byok", "completed", "dead_letter"] {
            assert_eq!(
                find(state).map(|it| it.section.as_str()),
                Some("Job states"),
                "{state}: docs/glossary.md"
            );
        }
    }

    #[test]
    fn every_alert_and_why_reason_is_explained() {
        let alerts = include_str!("../dashboards/rules/alerts.yml");
        let names: BTreeSet<&str> =
            alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
        assert!(names.len() > 10, "they were found");
        for name in names {
            assert_eq!(kind(name), Some(Kind::Alert), "{name}: docs/runbooks/{name}.md");
        }
        let (_, guards) =
            include_str!("../pipeline/job/src/why.rs").split_once("fn guard(").unwrap_or_default();
        let guards: Vec<&str> = guards.split('"').skip(1).step_by(2).collect();
        assert!(guards.len() > 10, "they were found");
        for guard in guards {
            assert!(find(guard).is_some(), "{guard}: docs/glossary.md");
        }
    }

    #[test]
    fn every_runbook_and_failure_page_is_built_in() {
        for (folder, pages) in [("failures", FAILURES.as_slice()), ("runbooks", RUNBOOKS.as_slice())] {
            let place = format!("{}/docs/{folder}", env!("CARGO_MANIFEST_DIR"));
            let there: BTreeSet<String> = std::fs::read_dir(place)
                .into_iter()
                .flatten()
                .filter_map(|file| file.ok()?.file_name().into_string().ok())
                .collect();
            let built_in: BTreeSet<String> = pages.iter().map(|(name, _)| format!("{name}.md")).collect();
            assert_eq!(built_in, there, "docs/{folder} and src/explained/pages.rs");
        }
    }

    #[test]
    fn glossary_lookup_ignores_spelling_and_finds_one_entry() {
        for spelled in ["dead letter", "Dead-Letter", "`dead_letter`", " DEAD_LETTER "] {
            assert_eq!(find(spelled).map(|it| it.word.as_str()), Some("dead letter"), "{spelled}");
        }
        assert_eq!(find("running").map(|it| it.section.as_str()), Some("Job states"));
        assert_eq!(find("nonsense"), None);
        assert!(near("model_timed_out").contains(&"model_timeout"), "{:?}", near("model_timed_out"));
        let words: BTreeSet<&str> = all().iter().map(|it| it.word.as_str()).collect();
        let twice = all().len() - words.len();
        assert_eq!(twice, 1, "`running` is a state and a reason");
        assert!(all().iter().all(|it| !it.short.is_empty() && !it.short.contains('`')));
    }

    #[test]
    fn explained_links_resolve() {
        assert_eq!(linked("../failures/model_timeout.md").map(|it| it.kind), Some(Kind::Failure));
        assert_eq!(linked("ListenOrphans.md").map(|it| it.kind), Some(Kind::Alert));
        assert_eq!((linked("../cloud-tasks.md"), linked("https://e.example/x")), (None, None));
    }
}
