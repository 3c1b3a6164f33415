//! A collector: takes spans over HTTP as any collector does, and remembers them and every byte that came.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::process::PATIENCE;

/// A span, as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the first one of a trace.
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    /// In nanoseconds.
    pub(crate) took: u64,
}

/// All that has come.
#[derive(Clone, Default)]
struct Come {
    spans: Vec<Span>,
    bytes: Vec<u8>,
    headers: Vec<String>,
    posts: usize,
}

/// A collector on this machine; it ends with the test's runtime.
pub(crate) struct Collector {
    pub(crate) url: String,
    come: watch::Receiver<Come>,
}

impl Collector {
    /// One that takes spans.
    pub(crate) async fn start() -> Self {
        Self::with(post(take)).await
    }

    /// One that accepts spans and never answers.
    pub(crate) async fn hanging() -> Self {
        Self::with(post(hang)).await
    }

    async fn with(route: axum::routing::MethodRouter<watch::Sender<Come>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        let (tell, come) = watch::channel(Come::default());
        let router = Router::new().route("/v1/traces", route).with_state(tell);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, come }
    }

    /// Waits until the spans that came satisfy `enough`, and answers them.
    pub(crate) async fn spans(&self, enough: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let mut come = self.come.clone();
        let came = tokio::time::timeout(PATIENCE, come.wait_for(|come| enough(&come.spans))).await;
        let spans = self.come.borrow().spans.clone();
        assert!(came.is_ok(), "not enough came: {spans:#?}");
        spans
    }

    /// Waits until something was posted.
    pub(crate) async fn was_asked(&self) {
        let mut come = self.come.clone();
        let came = tokio::time::timeout(PATIENCE, come.wait_for(|come| come.posts > 0)).await;
        assert!(came.is_ok(), "nothing was posted");
    }

    /// Every byte that came, read as text where it is some.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.come.borrow().bytes).into_owned()
    }

    /// The values of the header `x-team` that came.
    pub(crate) fn teams(&self) -> Vec<String> {
        self.come.borrow().headers.clone()
    }
}

async fn take(State(tell): State<watch::Sender<Come>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let Ok(told) = ExportTraceServiceRequest::decode(body.clone()) else { return StatusCode::BAD_REQUEST };
    let scopes = told.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    let spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).map(span).collect();
    let team = headers.get("x-team").and_then(|team| team.to_str().ok()).unwrap_or_default().to_owned();
    tell.send_modify(|come| {
        come.spans.extend(spans);
        come.bytes.extend_from_slice(&body);
        come.headers.push(team);
        come.posts += 1;
    });
    StatusCode::OK
}

async fn hang(State(tell): State<watch::Sender<Come>>) -> StatusCode {
    tell.send_modify(|come| come.posts += 1);
    std::future::pending().await
}

fn span(span: opentelemetry_proto::tonic::trace::v1::Span) -> Span {
    Span {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        name: span.name,
        took: span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano),
        attributes: span.attributes.into_iter().map(attribute).collect(),
    }
}

fn attribute(pair: KeyValue) -> (String, String) {
    let value = match pair.value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    (pair.key, value)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
