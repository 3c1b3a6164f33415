//! Apps of third parties: what a manifest may say, what a call of a tool sends, and how its answer is read.
//!
//! Everything here is pure. Manifests are fetched and tools are called by others, through `outside`.

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod answer;
mod answered;
mod arguments;
mod call;
mod check;
mod manifest;
pub mod mcp;

pub use answer::read_answer;
pub use answered::{Answered, ToolFailure};
pub use arguments::check_arguments;
pub use call::{Outgoing, TooLong, tool_request};
pub use check::{MAX_MANIFEST_BYTES, MAX_TOOLS, add_mcp_tools, check};
pub use manifest::{ChatMessages, Manifest, Method, Parameter, ParameterType, Target, Tool, origin};
