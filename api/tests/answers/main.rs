//! Is each documented answer given, to the letter? (DESIGN §10)
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod additive;
mod bench;
mod contract;
mod conversations;
mod creates;
mod document;
mod fastapi;
mod finalization;
mod gate;
mod keys;
mod webhooks;
