//! The HTTP API as clients see it: every documented response. (DESIGN §13)
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod action_items;
mod apps;
mod bench;
mod budgets;
mod byok;
mod characters;
mod chat;
mod client_disconnects;
mod contract;
mod conventions;
mod conversations;
mod create;
mod deleted_user;
mod document;
mod errors;
mod fastapi;
mod finalization;
mod goals;
mod idempotency;
mod idempotency_after_crash;
mod idempotency_of_finalize;
mod idempotency_of_parts;
mod isolation;
mod keys;
mod listen;
mod lists;
mod live_page;
mod location;
mod mcp;
mod memories;
mod memory_budget;
mod middleware;
mod notifications;
mod processing;
mod profile;
mod reminders;
mod search;
mod search_names;
mod segments;
mod shards;
mod silent_database;
mod status;
mod text_limits;
mod timeouts;
mod webhooks;
