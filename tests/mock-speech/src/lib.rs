//! Speech engines for tests. They hear tones (`tone440`) where real ones hear words, so that a test can tell whether
//! every second of audio came back once and at its time; and they misbehave on command.
#![allow(clippy::expect_used, clippy::panic, reason = "a test server that cannot work must fail its test")]

mod deepgram;
mod tones;
mod transcriber;

pub use deepgram::{Connection, Deepgram, Manner};
pub use tones::{RATE, hertz, silence, tone};
pub use transcriber::{Reply, Request, Transcriber};
