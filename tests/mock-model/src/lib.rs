//! A model server for tests. It speaks `/chat/completions` and `/embeddings`, fills any JSON schema with
//! words of the talk it is shown, counts calls and tokens per stage, and misbehaves on command: slow, busy,
//! broken, silent, refusing, lying, or obeying orders in the talk.
//!
//! In a test it is a [`Mock`] of the test's own; from a shell it is `cargo run -p mock-model`, controlled
//! over HTTP under `/mock`.

mod answer;
mod cache;
mod fault;
mod ledger;
mod question;
mod server;
mod talk;

pub use fault::{Fault, Kind};
pub use ledger::{Call, Counts};
pub use server::{Manners, Mock, Options};
pub use talk::{Streaming, ToolCall, Turn};
