//! What became of spans, counted: no request waits for a collector, so losses must be visible.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor},
};
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// How many spans may wait for the collector; what comes on top is dropped and counted.
pub(super) const QUEUE: usize = 2_048;

/// `listen_trace_spans_total{outcome}`. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SpanCounts {
    all: IntCounterVec,
    sent: IntCounter,
    failed: IntCounter,
    dropped: IntCounter,
}

impl SpanCounts {
    /// Counters at zero, of no registry yet.
    pub(crate) fn new() -> prometheus::Result<Self> {
        let help = "Spans by what became of them: sent to the collector, failed to be sent, or dropped because too \
                    many were waiting.";
        let all = IntCounterVec::new(Opts::new("listen_trace_spans_total", help), &["outcome"])?;
        let [sent, failed, dropped] =
            ["sent", "failed", "dropped"].map(|outcome| all.with_label_values(&[outcome]));
        Ok(Self { all, sent, failed, dropped })
    }

    /// Shows them at `/metrics`.
    pub(crate) fn register(&self, registry: &Registry) -> prometheus::Result<()> {
        registry.register(Box::new(self.all.clone()))
    }
}

/// The library's processor behind a gate that counts: a span that would find the queue full is not handed on.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) behind: BatchSpanProcessor,
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) counts: SpanCounts,
}

impl SpanProcessor for Gate {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.behind.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= QUEUE {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            self.counts.dropped.inc();
            return;
        }
        self.behind.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.behind.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.behind.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.behind.set_resource(resource);
    }
}

/// An exporter that counts, and says once when the collector stops taking spans, and once when it takes them again.
#[derive(Debug)]
pub(super) struct Counted<E> {
    pub(super) exporter: E,
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) counts: SpanCounts,
    pub(super) is_failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.waiting.fetch_sub(spans, Ordering::AcqRel);
        let exported = self.exporter.export(batch).await;
        let was_failing = self.is_failing.swap(exported.is_err(), Ordering::AcqRel);
        let counted = if exported.is_ok() { &self.counts.sent } else { &self.counts.failed };
        counted.inc_by(u64::try_from(spans).unwrap_or(u64::MAX));
        match (was_failing, exported.is_err()) {
            (false, true) => tracing::warn!(
                spans,
                "the collector takes no spans; they are lost, and nothing else is. Look at OTEL_EXPORTER_OTLP_ENDPOINT"
            ),
            (true, false) => tracing::info!("the collector takes spans again"),
            _ => {}
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests;
