//! Recovery: failover without loss of acknowledged requests, restoring a backup, and rolling updates without a failed request.
//!
//! The ignored ones take long; `.ci/nightly` runs them, and so does `cargo test -p it --test recovery -- --ignored`.
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
#[path = "../system/server_programs.rs"]
mod server_programs;

mod balancer;
mod forwarder;
mod server;

mod failover;
mod restore;
mod rolling;
