//! The assistant behind its routes: turns that belong to the process and not to a connection, and the tools over a user's
//! data, which the MCP server shares.

mod excerpt;
mod journal;
mod registry;
mod settings;
pub(crate) mod toolbox;
mod turns;

pub use registry::Chat;
pub use settings::{ChatApps, ChatSettings, EngineWithKey, NoChatApps, UserApps};
pub(crate) use turns::{Begun, Message, Reply, begin, ended, thread};
