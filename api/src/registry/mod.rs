//! Long-running work of this process: live sessions, and turns of the assistant.

mod chat;
mod live;

pub use chat::Chat;
pub use live::Live;
pub(crate) use live::{Command, Seat};
