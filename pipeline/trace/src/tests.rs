//! Contexts as texts, and the spans that they lead.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must fail")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{Sampler, SdkTracerProvider, SpanData, SpanExporter},
};
use tracing::subscriber::with_default;
use tracing_subscriber::{layer::SubscriberExt, registry};

use crate::{NoContext, TARGET, TraceContext, queue_wait};

const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps what is exported.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

/// What `work` traced.
fn spans_of(work: impl FnOnce()) -> Vec<SpanData> {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    with_default(registry().with(layer), work);
    kept.0.lock().unwrap().clone()
}

#[test]
fn trace_context_round_trips() {
    let context: TraceContext = SENT.parse().unwrap();
    assert_eq!(context.to_string(), SENT);
    assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(context.span_id(), "b7ad6b7169203331");
    let later = SENT.replacen("00", "cc", 1) + "-what-comes-then";
    assert_eq!(later.parse(), Ok(context), "a later version's known part");
}

#[test]
fn trace_context_keeps_only_the_sampled_flag() {
    let flags = |flags: &str| SENT.replace("-01", flags).parse::<TraceContext>().unwrap().to_string();
    assert_eq!(flags("-03"), SENT);
    assert_eq!(flags("-02"), SENT.replace("-01", "-00"));
}

#[test]
fn trace_context_of_another_form_is_ignored() {
    let others = [
        String::new(),
        "zwitscherling".to_owned(),
        SENT.to_uppercase(),
        SENT.replacen("00", "ff", 1),
        format!("{SENT}-more"),
        format!("{}more", SENT.replacen("00", "cc", 1)),
        SENT.replace("b7ad6b7169203331", "0000000000000000"),
        SENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
        SENT.replace('-', "_"),
        "é".repeat(55),
    ];
    for other in others {
        assert_eq!(other.parse::<TraceContext>(), Err(NoContext), "{other}");
    }
}

#[test]
fn trace_context_is_absent_without_tracing() {
    assert_eq!(TraceContext::current(), None);
    assert_eq!(queue_wait(None, "finalization", Duration::ZERO), None);
    let admission: TraceContext = SENT.parse().unwrap();
    assert_eq!(
        queue_wait(Some(admission), "finalization", Duration::ZERO).unwrap().trace_id(),
        admission.trace_id()
    );
}

#[test]
fn trace_span_is_a_child_of_its_context() {
    let lead: TraceContext = SENT.parse().unwrap();
    let mut inside = None;
    let spans = spans_of(|| {
        let span = tracing::info_span!(target: TARGET, "run");
        lead.lead(&span);
        inside = span.in_scope(TraceContext::current);
    });
    let [span] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(span.span_context.trace_id().to_string(), lead.trace_id());
    assert_eq!(span.parent_span_id.to_string(), lead.span_id());
    assert_eq!(inside.unwrap().span_id(), span.span_context.span_id().to_string());
}

#[test]
fn trace_unsampled_context_propagates() {
    let lead: TraceContext = SENT.replace("-01", "-00").parse().unwrap();
    let mut inside = None;
    let spans = spans_of(|| {
        let span = tracing::info_span!(target: TARGET, "run");
        lead.lead(&span);
        inside =
            span.in_scope(|| tracing::info_span!(target: TARGET, "stage").in_scope(TraceContext::current));
    });
    assert!(spans.is_empty(), "{spans:?}");
    let inside = inside.unwrap().to_string();
    assert!(inside.starts_with(&format!("00-{}", lead.trace_id())) && inside.ends_with("-00"), "{inside}");
}
