//! Dashboards, alert rules and runbooks compared with a running service.
//!
//! Those tests that need Prometheus are ignored; with Debian's package `prometheus` installed,
//! `cargo test -p it --test boards -- --ignored` runs them.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "these are tests: whatever is not as expected must fail them"
)]

// The program, its clients and a receiver, as the system tests have them; here only a part of them is asked for.
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/binary.rs"]
mod binary;
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/client.rs"]
mod client;
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/process.rs"]
mod process;
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/receiver.rs"]
mod receiver;
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/world.rs"]
mod world;

mod board;
mod exposition;
mod expression;
mod prometheus;
mod rule;
mod speaker;

mod boards;
mod commands;
mod live;
mod rules;
