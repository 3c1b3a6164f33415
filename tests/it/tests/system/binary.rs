//! Where the program under test is, and its commands.

use std::process::{Command, Output};

use serde_json::Value;

#[path = "built.rs"]
mod built;

pub(crate) use built::path;

/// Runs a command to its end on a database.
pub(crate) fn command(database: &str, words: &[&str]) -> Output {
    command_with(database, &[], words)
}

/// The same with more settings.
pub(crate) fn command_with(database: &str, settings: &[(&str, &str)], words: &[&str]) -> Output {
    Command::new(path())
        .args(words)
        .envs(settings.iter().copied())
        .env("DATABASE_URL", database)
        .env("USER", "ann")
        .output()
        .expect("the program can be run")
}

/// How a command ended: exit code, stdout and stderr.
pub(crate) fn ends(database: &str, words: &[&str]) -> (Option<i32>, String, String) {
    told(&command(database, words))
}

/// The same of what a command left.
pub(crate) fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What a command that must succeed wrote on stdout.
pub(crate) fn printed(database: &str, words: &[&str]) -> String {
    let output = command(database, words);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "listen {words:?} ended with {}: {complaint}", output.status);
    String::from_utf8(output.stdout).expect("commands speak UTF-8").trim().to_owned()
}

/// `listen jobs list --json`.
pub(crate) fn jobs(database: &str) -> Vec<Value> {
    let text = printed(database, &["jobs", "list", "--json", "--limit", "1000"]);
    let page: Value = serde_json::from_str(&text).expect("the list is a JSON document");
    page["jobs"].as_array().expect("it has jobs").clone()
}

/// The one job of a database that has one.
pub(crate) fn the_job(database: &str) -> Value {
    let mut jobs = jobs(database);
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}
