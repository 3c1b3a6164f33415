//! The engines against servers that hear tones for words and lie on command. The clock runs fast, so that deadlines
//! and back-off cost little time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod deepgram;
mod none;
mod openai;
mod settings;
mod world;
