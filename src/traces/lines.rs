//! Log lines that name their trace, so that a line leads to a trace and a trace to its lines.

use std::fmt;

use trace::TraceContext;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One JSON object.
    Json,
    /// Words.
    Human,
}

/// A format whose lines get `trace_id` and `span_id` wherever there are some.
pub(crate) struct WithTraceIds<F> {
    pub(crate) format: F,
    pub(crate) shape: Shape,
}

impl<S, N, F> FormatEvent<S, N> for WithTraceIds<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(trace) = TraceContext::current() else {
            return self.format.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&self.shape.add(&line, &trace))
    }
}

impl Shape {
    fn add(self, line: &str, trace: &TraceContext) -> String {
        let (trace_id, span_id) = (trace.trace_id(), trace.span_id());
        match (self, line.strip_prefix('{')) {
            (Self::Json, Some(rest)) => {
                format!("{{\"trace_id\":\"{trace_id}\",\"span_id\":\"{span_id}\",{rest}")
            }
            _ => format!("{} trace_id={trace_id}\n", line.trim_end_matches('\n')),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn log_line_is_unchanged_except_for_its_trace_id() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
        assert_eq!(
            Shape::Json.add("{\"level\":\"INFO\"}\n", &trace),
            "{\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"span_id\":\"b7ad6b7169203331\",\"level\":\"INFO\"}\n"
        );
        assert_eq!(Shape::Human.add("told\n", &trace), "told trace_id=0af7651916cd43dd8448eb211c80319c\n");
    }
}
