//! Is each documented answer given, to the letter? (DESIGN §13)
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
mod contract;
mod conventions;
mod conversations;
mod creates;
mod document;
mod fastapi;
mod finalization;
mod gate;
mod goals;
mod hang_ups;
mod idempotency;
mod isolation;
mod keys;
mod lengths;
mod listen;
mod lists;
mod live_page;
mod lost;
mod mcp;
mod memories;
mod memory;
mod messages;
mod notifications;
mod processing;
mod profile;
mod refusals;
mod reminders;
mod repeats_of_finalize;
mod repeats_of_parts;
mod scopes;
mod search;
mod shards;
mod silent;
mod slow;
mod spoken;
mod status;
mod strangers;
mod webhooks;
