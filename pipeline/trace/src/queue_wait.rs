//! The time between an admission and its claim, as a span of its own.

use std::time::Duration;

use opentelemetry::{
    KeyValue, global,
    trace::{SpanKind, TraceContextExt, Tracer},
};

use crate::TraceContext;

/// A span `queue wait` that ends now and began when the job was due: how long it waited in `queue`, as a child of its
/// admission. Answers where the claimed run goes on; `None` where traces are off or the admission was not traced.
///
/// The wait is a difference of two moments of the database's clock; only the span's place on the time line is this
/// process's.
pub fn queue_wait(
    admission: Option<TraceContext>,
    queue: &'static str,
    waited: Duration,
) -> Option<TraceContext> {
    let admission = admission?;
    let now = opentelemetry::time::now();
    let tracer = global::tracer("listen");
    let span = tracer
        .span_builder("queue wait")
        .with_kind(SpanKind::Consumer)
        .with_start_time(now.checked_sub(waited).unwrap_or(now))
        .with_attributes([
            KeyValue::new("messaging.system", "postgresql"),
            KeyValue::new("messaging.destination.name", queue),
        ])
        .start_with_context(&tracer, &admission.remote());
    let context = opentelemetry::Context::new().with_span(span);
    let wait = TraceContext::of(context.span().span_context());
    context.span().end_with_timestamp(now);
    // Without an exporter the span is the parent itself or missing.
    wait.or(Some(admission))
}
