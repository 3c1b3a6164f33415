//! Queued jobs become completions, and endpoints receive their deliveries: real Postgres, scripted engines, a receiver on this
//! machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up must fail"
)]

mod audio;
mod bench;
mod byok;
mod connection;
mod deliveries;
mod engines;
mod indexing;
mod lost_answers;
mod mcp;
mod pushes;
mod receiver;
mod retry_after;
mod runs;
