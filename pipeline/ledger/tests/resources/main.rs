//! What the ledger keeps besides jobs, against a real Postgres: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

#[path = "../shared/fixture.rs"]
mod fixture;
mod world;

mod backlog;
mod bounded;
mod budgets;
mod bystanders;
mod caps;
mod closed_gates;
mod columns;
mod constraints;
mod conversations;
mod created;
mod deliveries;
mod desk_webhooks;
mod endpoint_marks;
mod endpoints;
mod erasure;
mod fairness;
mod folders;
mod found;
mod gates;
mod gauges;
mod goal_numbers;
mod goals;
mod idempotency;
mod known_people;
mod names;
mod neighbours;
mod objects;
mod own_items;
mod own_memories;
mod people;
mod plans;
mod prune;
mod prune_rows;
mod push_marks;
mod push_rows;
mod push_strangers;
mod recovery;
mod redelivery;
mod reminders;
mod segments;
mod shown;
mod shown_keys;
mod strangers;
mod subscribing;
mod taken_back;
mod tried_again;
mod tried_now;
mod turns;
mod woken;
