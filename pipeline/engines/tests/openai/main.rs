//! The OpenAI engine against a server on this machine that answers from a script.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot set itself up must fail"
)]

mod answers;
mod assistant;
mod cost;
mod failures;
mod faults;
mod hostile;
mod injections;
mod liars;
mod pages;
mod prompts;
mod sight;
mod survey;
mod world;
