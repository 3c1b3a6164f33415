//! What understands text: two families behind the ability traits of `stages` (DESIGN §7).

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod embedded;
mod openai;

pub use embedded::{DayOrder, DiscardReason, Embedded};
pub use openai::{BadConfig, Meter, OpenAi, OpenAiConfig};
pub use upstream::Patience;
