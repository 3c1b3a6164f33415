//! Apps and their messages, users' locations, audio webhooks, and encrypted secrets, against a real PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod audio_webhooks;
#[path = "../shared/fixture.rs"]
mod fixture;
mod installs;
mod messages;
mod secrets;
mod world;
