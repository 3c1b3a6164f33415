//! The console over HTTP, each test on a database of its own: authentication, permissions, and what is never shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod actions;
mod apps;
mod authentication;
mod help;
mod invalid_input;
mod job_commands;
mod live_sessions;
mod live_updates;
mod pages;
mod shards;
mod webhooks;
mod world;
