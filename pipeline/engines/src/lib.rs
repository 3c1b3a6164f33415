//! What understands text: two families behind the ability traits of `stages` (DESIGN §7).

mod embedded;
mod openai;

pub use embedded::{DayOrder, DiscardReason, Embedded};
pub use openai::{BadConfig, Meter, OpenAi, OpenAiConfig, Patience};
