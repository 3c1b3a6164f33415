//! The assistant behind its routes: turns that belong to the process and not to a connection, and the tools over a user's
//! data, which the MCP server shares.

mod excerpt;
mod journal;
pub(crate) mod toolbox;
mod turns;

pub(crate) use turns::{Begun, Message, Reply, begin, ended, thread};
