//! Where a trace goes on.

use std::{fmt, str::FromStr};

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The length of its text: version, trace id, span id and flags.
const LENGTH: usize = 55;

/// A span that others can be children of, wherever they are made: W3C's `traceparent`, 55 characters, version 00.
/// A vendor's `tracestate` is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace: TraceId,
    span: SpanId,
    flags: TraceFlags,
}

impl TraceContext {
    /// That of the span in which this is called; `None` where traces are off.
    pub fn current() -> Option<Self> {
        opentelemetry::Context::map_current(|context| Self::of(context.span().span_context()))
    }

    pub(crate) fn of(context: &SpanContext) -> Option<Self> {
        context.is_valid().then(|| Self {
            trace: context.trace_id(),
            span: context.span_id(),
            flags: context.trace_flags(),
        })
    }

    /// The id of the whole trace: 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        self.trace.to_string()
    }

    /// The id of the span: 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        self.span.to_string()
    }

    /// Makes `span`, which has not been entered yet, a child of this; whether it is kept follows from the parent's
    /// sampled flag. Nothing happens where traces are off.
    pub fn lead(&self, span: &Span) {
        // An error says that there is no exporter, or that the span is switched off: both are as they should be.
        let _ = span.set_parent(self.remote());
    }

    /// As the parent of spans in this process.
    pub(crate) fn remote(&self) -> opentelemetry::Context {
        let parent = SpanContext::new(self.trace, self.span, self.flags, true, TraceState::NONE);
        opentelemetry::Context::new().with_remote_span_context(parent)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// The text is no context; what it was is not repeated: a client may have sent anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoContext;

impl FromStr for TraceContext {
    type Err = NoContext;

    /// Reads a `traceparent`. Of a later version the part that we know is read, as W3C asks; `ff`, capital letters and
    /// ids of zeros alone are invalid.
    fn from_str(text: &str) -> Result<Self, NoContext> {
        let (known, rest) = text.split_at_checked(LENGTH).ok_or(NoContext)?;
        let fields: Vec<&str> = known.split('-').collect();
        let [version, trace, span, flags] = fields[..] else { return Err(NoContext) };
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let has_shape = [version, trace, span, flags].map(str::len) == [2, 32, 16, 2]
            && [version, trace, span, flags].into_iter().all(is_hex);
        let goes_on =
            if version == "00" { rest.is_empty() } else { rest.is_empty() || rest.starts_with('-') };
        if !has_shape || !goes_on || version == "ff" {
            return Err(NoContext);
        }
        let flags = u8::from_str_radix(flags, 16).map_err(|_| NoContext)?;
        let trace = TraceId::from_hex(trace).map_err(|_| NoContext)?;
        let span = SpanId::from_hex(span).map_err(|_| NoContext)?;
        // Of the flags, `sampled` alone means something to us.
        let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
        let parent = SpanContext::new(trace, span, flags, true, TraceState::NONE);
        Self::of(&parent).ok_or(NoContext)
    }
}
