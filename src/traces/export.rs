//! The way of spans to the collector: a bounded queue, a thread that posts batches, and a bounded end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};

use anyhow::Context;
use opentelemetry::{KeyValue, global, trace::TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanLimits},
};
use tokio::runtime::Handle;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use super::{
    SpanCounts, TraceSettings,
    client::{Client, TIMEOUT},
    counted::{Counted, Gate, QUEUE},
};
use crate::{
    exit::{self, Exit},
    process::{install_crypto, process_name},
};

/// How many spans one post holds at most.
const BATCH: usize = 512;
/// How long a span waits for others.
const GATHERING: Duration = Duration::from_secs(1);
/// How long the end of the process waits for the last spans.
const FAREWELL: Duration = Duration::from_secs(2);

/// The export of this process, for as long as it runs.
pub(crate) struct Export {
    provider: SdkTracerProvider,
    counts: SpanCounts,
}

impl Export {
    /// Starts exporting where an address is set; nothing is connected yet.
    pub(crate) fn start(settings: &TraceSettings, runtime: Handle) -> anyhow::Result<Option<Self>> {
        exit::refuse(&settings.problems())?;
        let (Some(endpoint), Some(sampler)) = (settings.endpoint(), settings.sampler()) else {
            return Ok(None);
        };
        install_crypto();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(runtime).context("making the client for traces")?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .with_timeout(TIMEOUT)
            .with_headers(settings.headers().unwrap_or_default())
            .build()
            .map_err(|_| Exit::Usage(NO_EXPORTER.to_owned()))?;
        let counts = SpanCounts::new().context("counting spans")?;
        let provider = SdkTracerProvider::builder()
            .with_span_processor(gate(exporter, &counts))
            .with_sampler(sampler)
            .with_span_limits(SpanLimits::default())
            .with_resource(resource(settings.service_name()))
            .build();
        global::set_tracer_provider(provider.clone());
        Ok(Some(Self { provider, counts }))
    }

    /// What became of its spans.
    pub(crate) fn counts(&self) -> SpanCounts {
        self.counts.clone()
    }

    /// The layer that makes spans of a trace out of those that are meant for it, and of no other; events stay in the
    /// log, which names the trace.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + 'static
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("listen"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(is_traced))
    }

    /// Sends what is waiting, for two seconds at most: a collector that hangs delays no exit.
    pub(crate) fn close(self) {
        if self.provider.shutdown_with_timeout(FAREWELL).is_err() {
            tracing::warn!("the last spans could not be sent");
        }
    }
}

const NO_EXPORTER: &str = "traces cannot be exported: compression is not supported (unset OTEL_EXPORTER_OTLP_COMPRESSION), \
     and OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// address";

fn is_traced(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == trace::TARGET
}

fn gate(exporter: SpanExporter, counts: &SpanCounts) -> Gate {
    let waiting = Arc::new(AtomicUsize::new(0));
    let counted = Counted {
        exporter,
        waiting: Arc::clone(&waiting),
        counts: counts.clone(),
        is_failing: AtomicBool::new(false),
    };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_max_export_batch_size(BATCH)
        .with_scheduled_delay(GATHERING)
        .build();
    let behind = BatchSpanProcessor::builder(counted).with_batch_config(batches).build();
    Gate { behind, waiting, counts: counts.clone() }
}

fn resource(name: &str) -> Resource {
    Resource::builder()
        .with_service_name(name.to_owned())
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", process_name()),
        ])
        .build()
}
