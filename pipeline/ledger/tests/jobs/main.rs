//! The verbs on jobs, against a real Postgres: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

#[path = "../shared/begun.rs"]
mod begun;
mod street;
mod world;

mod admissions;
mod backlogs;
mod bulk;
mod bulk_reads;
mod chance;
mod claims;
mod conformance;
mod contended;
mod delivery_backlogs;
mod desk_ages;
mod desk_plans;
mod desk_rows;
mod discards;
mod erased;
mod examined;
mod explain;
mod fences;
mod grown;
mod heard;
mod heirs;
mod idempotency;
mod kept_things;
mod keyed;
mod late;
mod limits;
mod locks;
mod migrated;
mod mirror;
mod operators;
mod orders;
mod overtaken;
mod passing;
mod persons_word;
mod polled;
mod processes;
mod races;
mod recipients;
mod renewals;
mod reprocess;
mod run_reads;
mod said;
mod seen;
mod servers;
mod spent;
mod strangers;
mod tasks;
mod traces;
mod two_bulks;
mod unreadable;
mod verified;
mod verified_rows;
mod watched;
