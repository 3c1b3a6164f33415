//! Live conversations, against a real PostgreSQL: each test has a database of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod ends;
#[path = "../shared/fixture.rs"]
mod fixture;
mod owners;
mod world;
