//! Traces across the queue: the context of a trace as one short text, and spans that only traces see.
//!
//! A span of a trace is an ordinary `tracing` span with the target [`TARGET`]. Where traces are exported, the binary
//! lets exactly these spans through to the exporter; everywhere else their call sites are switched off, so that they
//! cost a load and a branch. Log spans (`request`, `run`) stay what they are. Attributes are ids of ours, closed lists
//! and numbers: never a word, a key, a header or a provider's text.

mod context;
mod queue_wait;

pub use context::{NoContext, TraceContext};
pub use queue_wait::queue_wait;

/// The target of spans that belong to traces and not to the log. Filters match beginnings: no module's path may begin
/// with it.
pub const TARGET: &str = "listen_trace";

#[cfg(test)]
mod tests;
