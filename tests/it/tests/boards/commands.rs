//! Commands in runbooks and failure pages: does the program accept them?

use std::fs;
use std::process::Command;

use crate::binary;
use crate::board::root;

/// Every command of the pages, with the page: what stands in code, begins with `listen` and has a word behind it.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for folder in ["docs/runbooks", "docs/failures"] {
        for entry in fs::read_dir(root().join(folder)).expect("there are pages") {
            let path = entry.expect("an entry can be read").path();
            let text = fs::read_to_string(&path).expect("a page is text");
            let page = path.file_name().expect("a page has a name").to_string_lossy().into_owned();
            for code in pieces_of_code(&text) {
                if let Some(words) = code.strip_prefix("listen ") {
                    found.push((page.clone(), words_of(words)));
                }
            }
        }
    }
    assert!(found.len() > 60, "the commands were found: {}", found.len());
    found
}

/// The lines of fenced shell, and what stands in backticks.
fn pieces_of_code(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        match (index % 2, part.strip_prefix("sh\n")) {
            (1, Some(shell)) => pieces.extend(shell.lines().map(|line| line.trim().to_owned())),
            (1, None) => {}
            _ => pieces.extend(part.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " "))),
        }
    }
    pieces
}

/// As a shell splits them; quotes hold reasons.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Pages write `…` where a reader says it in words.
fn filled(word: &str) -> &str {
    if word == "…" { "in words" } else { word }
}

/// Whether the program takes the words. `--help` is said last: all words before it are read and must be right,
/// nothing is done, and an id that stands for another one is no mistake.
fn takes(words: &[String]) -> Result<(), String> {
    let ended = Command::new(binary::path())
        .args(words.iter().map(|word| filled(word)))
        .arg("--help")
        .output()
        .expect("the program can be run");
    let complaint = String::from_utf8_lossy(&ended.stderr).into_owned();
    if ended.status.success() { Ok(()) } else { Err(complaint) }
}

#[test]
fn commands_in_pages_parse() {
    for (page, words) in commands() {
        if let Err(complaint) = takes(&words) {
            panic!("{page}: listen {}: {complaint}", words.join(" "));
        }
    }
}

/// What the program misses in a command that is written to be run as it stands: one with an id or an option. `--help`
/// forgives what is not said, so it is run; the database's address is one with which nothing is begun.
fn misses(words: &[String]) -> Option<String> {
    if !words.iter().any(|word| word == "ID" || word.starts_with("--")) {
        return None;
    }
    let ended = Command::new(binary::path())
        .args(words.iter().map(|word| filled(word)))
        .env("DATABASE_URL", "nowhere")
        .env("USER", "olga")
        .output()
        .expect("the program can be run");
    let complaint = String::from_utf8_lossy(&ended.stderr).into_owned();
    complaint.contains("required arguments were not provided").then_some(complaint)
}

#[test]
fn commands_in_pages_name_required_arguments() {
    for (page, words) in commands() {
        if let Some(complaint) = misses(&words) {
            panic!("{page}: listen {}: {complaint}", words.join(" "));
        }
    }
    assert!(misses(&words_of("webhooks show ID")).is_some(), "it needs a user");
}

#[test]
fn wrong_command_in_a_page_is_found() {
    for wrong in ["jobs list --statuss queued", "jobs list --status sleeping", "jobz list"] {
        assert!(takes(&words_of(wrong)).is_err(), "{wrong}");
    }
    assert_eq!(
        words_of(r#"jobs replay ID --reason "it is back""#),
        ["jobs", "replay", "ID", "--reason", "it is back"]
    );
}
