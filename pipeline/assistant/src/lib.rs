//! The assistant without its surroundings: the tools over a user's data, the loop of one turn, and the ports of both.
//!
//! No SQL and no HTTP. An engine ([`Converse`]) chooses tools and words the answer, a [`Toolbox`] runs the tools over the
//! user's data, [`AppTools`] those of installed apps, and a [`Journal`] keeps what came of the turn.

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod arguments;
mod gate;
mod offer;
mod ports;
mod reply;
mod tools;
mod turn;

pub use arguments::check_arguments;
pub use gate::names_app;
pub use offer::{Offered, Origin};
pub use ports::{
    AppTools, Call, Context, Converse, Event, Exchange, Hold, Journal, Listener, NoApps, Output, Past, Round,
    Speaker, Step, ToolFailure, ToolState, Toolbox,
};
pub use reply::{Reply, ReplyStatus, Source, SourceKind, ToolUse, Trouble};
pub use tools::{AppTool, DataTool};
pub use turn::{Limits, Ports, Turn};
