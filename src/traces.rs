//! Traces: sent to a collector where one is configured, and otherwise nothing at all.

mod client;
mod counted;
mod export;
mod lines;
mod settings;

pub(crate) use counted::SpanCounts;
pub(crate) use export::Export;
pub(crate) use lines::{Shape, WithTraceIds};
pub(crate) use settings::TraceSettings;
