//! The ledger's operations on jobs, against a real PostgreSQL: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

#[path = "../shared/fixture.rs"]
mod fixture;
mod three_conversations;
mod world;

mod admission;
mod backlog_rows_read;
mod bulk_replay;
mod bulk_replay_concurrent;
mod bulk_replay_preview;
mod byok;
mod checkpoints;
mod claim;
mod completion_results;
mod conformance;
mod connections;
mod defer;
mod delivery_batches;
mod discard;
mod due_work;
mod erasure;
mod examine;
mod idempotency;
mod isolation;
mod lock_order;
mod model_servers;
mod operator_actions;
mod operator_dead_letters;
mod operator_jobs;
mod operator_lease_holder;
mod operator_overview;
mod operator_processes;
mod operator_query_plans;
mod poll;
mod prepared_plans;
mod query_plans;
mod races;
mod renewal;
mod reprocess;
mod reprocess_again;
mod retryable_errors;
mod run_input;
mod task_queue;
mod trace_context;
mod unknown_backlog;
mod user_edits;
mod verify;
mod verify_conditions;
mod wakeups;
mod webhook_recipients;
