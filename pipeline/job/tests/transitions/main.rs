//! Tests of every transition and every refusal of the job state machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod fixture;

mod admit;
mod applied;
mod claim;
mod effects;
mod names;
mod operator;
mod prove_alive;
mod repair;
mod run_end;
mod run_hold;
mod user;
mod why;
