//! What the ledger keeps besides jobs, against a real Postgres: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod world;

mod conversations;
mod deliveries;
mod endpoints;
mod fairness;
mod gauges;
mod known_people;
mod people;
mod plans;
mod prune;
mod recovery;
mod reminders;
mod segments;
mod things;
