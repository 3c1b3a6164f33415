//! From the audio frames of a socket to words: decoding, voice activity, utterances, speech engines.
//!
//! ```text
//! frame ─► Decoder ─► Audio (16 kHz, a track per channel) ─► Recognizer::hear ─► Event::{Interim, Final, Gap, …}
//! ```
//!
//! A session opens a [`Recognizer`] from the process's [`Engine`] and hands it all audio in order; what was
//! recognized comes back as [`Event`]s whose times are seconds of that audio. Nothing a provider wrote leaves this
//! crate but recognized words, and `Debug` of nothing here shows words or keys.

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod audio;
mod choose;
mod client;
mod codec;
mod deepgram;
mod engine;
mod fault;
mod health;
mod held;
mod listener;
mod meters;
mod openai;
mod reason;
mod settings;
mod utterance;
mod voice;
mod wav;

pub use audio::{Audio, RATE, seconds};
pub use codec::{BadFormat, Codec, Decoder, Format, RATES, Undecodable};
pub use engine::{
    Activity, BadKey, Capabilities, Draft, Engine, Event, Events, Gap, Language, Meter, NoMeter, Recognizer,
    Session, Status, Usage, channel,
};
pub use health::{ServerAnswer, ServerHealth};
pub use reason::Reason;
pub use settings::{BadSettings, Choice, Settings};
