//! Who may import whom (ARCHITECTURE.md, "Invariants").

use std::collections::BTreeSet;

use crate::tree::{Crate, WITH_SQL, crates, names, product_of};

/// Every crate of ours and the crates of ours that its product may name.
const ALLOWED: [(&str, &[&str]); 31] = [
    ("names", &[]),
    ("records", &["names"]),
    ("apps", &["records"]),
    ("job", &["names"]),
    ("outside", &["upstream"]),
    ("embedded", &[]),
    ("trace", &[]),
    ("compute", &[]),
    ("upstream", &[]),
    ("stages", &["records", "job", "trace"]),
    ("assistant", &["records"]),
    ("engines", &["names", "records", "assistant", "compute", "job", "stages", "upstream"]),
    ("speech", &["names", "trace", "upstream"]),
    ("live", &["names"]),
    ("db", &["records", "job"]),
    ("store", &["records", "job", "db"]),
    ("outbox", &["records", "job", "trace", "db"]),
    ("ledger", &["records", "job", "trace", "db", "store", "outbox"]),
    ("operations", &["records", "job", "db", "store", "outbox", "ledger"]),
    (
        "api",
        &[
            "records",
            "apps",
            "assistant",
            "job",
            "trace",
            "db",
            "store",
            "outbox",
            "ledger",
            "live",
            "speech",
        ],
    ),
    (
        "worker",
        &[
            "records", "apps", "compute", "job", "trace", "db", "store", "outbox", "ledger", "stages",
            "outside",
        ],
    ),
    ("reconciler", &["records", "job", "trace", "db", "store", "outbox", "ledger", "operations"]),
    ("tasks", &["records", "job", "db", "outbox", "ledger", "upstream"]),
    (
        "listen",
        &[
            "records",
            "apps",
            "assistant",
            "compute",
            "job",
            "outside",
            "embedded",
            "trace",
            "stages",
            "engines",
            "speech",
            "tasks",
            "db",
            "store",
            "outbox",
            "ledger",
            "operations",
            "api",
            "worker",
            "reconciler",
        ],
    ),
    ("testbed", &["embedded", "db"]),
    ("mock-model", &[]),
    ("mock-speech", &[]),
    ("task-queue", &[]),
    (
        "bench",
        &[
            "api",
            "apps",
            "chaos",
            "db",
            "embedded",
            "engines",
            "job",
            "ledger",
            "operations",
            "outbox",
            "outside",
            "reconciler",
            "records",
            "stages",
            "store",
            "task-queue",
            "tasks",
            "worker",
        ],
    ),
    ("it", &[]),
    ("chaos", &["task-queue"]),
];

fn one(name: &str) -> Crate {
    crates().into_iter().find(|krate| krate.name == name).unwrap_or_else(|| panic!("there is a crate {name}"))
}

fn users_of(dependency: &str) -> Vec<String> {
    crates().into_iter().filter(|krate| krate.needs.contains(dependency)).map(|krate| krate.name).collect()
}

#[test]
fn every_crate_is_on_the_dependency_plan() {
    let there: BTreeSet<String> = crates().into_iter().map(|krate| krate.name).collect();
    let planned: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, planned);
}

#[test]
fn crates_depend_only_on_lower_crates() {
    let ours: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ALLOWED {
        for needed in one(name).needs.iter().filter(|needed| ours.contains(needed.as_str())) {
            assert!(allowed.contains(&needed.as_str()), "{name} must not import {needed}");
        }
    }
}

#[test]
fn test_dependencies_are_lower_crates_or_test_support() {
    let ours: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ALLOWED {
        for borrowed in one(name).tested_with.iter().filter(|borrowed| ours.contains(borrowed.as_str())) {
            let is_fine = allowed.contains(&borrowed.as_str())
                || ["operations", "testbed", "mock-model", "mock-speech", "task-queue"]
                    .contains(&borrowed.as_str());
            assert!(is_fine, "the tests of {name} must not import {borrowed}");
        }
    }
}

#[test]
fn job_crate_has_few_dependencies() {
    let expected: BTreeSet<String> = ["chrono", "names", "sha2"].map(str::to_owned).into();
    assert_eq!(one("job").needs, expected);
    assert_eq!(one("names").needs, BTreeSet::new(), "it needs no crate of ours");
}

#[test]
fn job_crate_has_no_clock_randomness_database_or_runtime() {
    let forbidden = [
        "async",
        "await",
        "tokio",
        "sqlx",
        "rand",
        "Utc::now",
        "Local::now",
        "SystemTime",
        "Instant",
        "std::env",
        "std::fs",
        "std::io",
        "std::net",
        "std::thread",
        "println",
        "tracing",
    ];
    for source in product_of(&one("job")) {
        for word in forbidden {
            assert!(!names(&source.text, word), "{} names {word}", source.path);
        }
    }
}

#[test]
fn domain_types_are_not_serializable() {
    for krate in ["records", "job"].map(one) {
        assert!(!krate.needs.contains("serde"), "{} must not need serde", krate.name);
        for source in product_of(&krate) {
            for word in ["Serialize", "Deserialize", "serde"] {
                assert!(!names(&source.text, word), "{} names {word}", source.path);
            }
        }
    }
}

#[test]
fn sql_is_only_in_database_crates() {
    let servers = ["bench", "chaos", "embedded", "listen", "testbed"];
    // `records` says how what is one row is read.
    let speakers: Vec<&str> = WITH_SQL.into_iter().chain(servers).chain(["records"]).collect();
    for user in users_of("sqlx") {
        assert!(speakers.contains(&user.as_str()), "{user} must not need sqlx");
    }
    // In the binary: its private server, and the options of a connection.
    let places = ["src/database.rs", "src/embedded.rs", "src/wiring.rs"];
    for source in product_of(&one("listen")).iter().filter(|source| names(&source.text, "sqlx")) {
        assert!(places.contains(&source.path.as_str()), "{} names sqlx", source.path);
    }
}

#[test]
fn http_calls_are_only_in_engines_speech_and_outside() {
    let callers = ["chaos", "engines", "outside", "speech", "tasks", "task-queue", "upstream", "listen"];
    for user in users_of("reqwest") {
        assert!(callers.contains(&user.as_str()), "{user} must not need reqwest");
    }
    // The demo is a client of the service that it shows, a health check of the process beside it; spans go to the operator's own
    // collector.
    let places = ["src/demo", "src/commands/healthcheck.rs", "src/traces/client.rs"];
    for source in product_of(&one("listen")).iter().filter(|source| names(&source.text, "reqwest")) {
        let is_one = places.iter().any(|place| source.path.starts_with(place));
        assert!(is_one, "{} names reqwest", source.path);
    }
}

#[test]
fn anyhow_is_only_in_the_binary() {
    assert_eq!(users_of("anyhow"), ["listen"]);
}
