//! Apps, what they write, where users are, and secrets at rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod audio_webhooks;
#[path = "../shared/fixture.rs"]
mod fixture;
mod installs;
mod location;
mod messages;
mod secrets;
mod world;
