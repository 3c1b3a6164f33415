//! Where the program under test is, and its commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

/// The program, brought up to date first: `cargo test` alone builds no programs of other packages.
/// `LISTEN_BINARY` names another one, for a binary that was built elsewhere.
pub(crate) fn path() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("LISTEN_BINARY") {
        Some(named) => PathBuf::from(named),
        None => beside_this_test(),
    })
}

/// Tests are built into `<profile>/deps`, programs into `<profile>`.
fn beside_this_test() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.ancestors().nth(2).expect("a test lives two folders below its profile");
    let program = profile.join("listen");
    build(profile);
    assert!(program.exists(), "{} is missing: run `cargo build --bin listen`", program.display());
    program
}

fn build(profile: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "listen", "--bin", "listen"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells this test of its own package would make build scripts run anew.
    for (name, _) in std::env::vars_os() {
        let known = name.to_string_lossy();
        if known.starts_with("CARGO_PKG_") || known.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    if let Some(target) = profile.parent() {
        cargo.env("CARGO_TARGET_DIR", target);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo can be run").success(), "the program could not be built");
}

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
