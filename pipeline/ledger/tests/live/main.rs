//! Live conversations against a real Postgres: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

#[path = "../shared/begun.rs"]
mod begun;
mod ends;
mod owners;
mod usage;
mod world;
