//! What happens around every request: its id, its span, its log line, its headers, and its panic.

use std::{any::Any, pin::pin, time::Instant};

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use db::Trouble;
use ledger::Ledger;
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use trace::TraceContext;
use tracing::{Instrument, Span, field::Empty};

use super::request_id;
use crate::{
    AppState, Code, Error,
    error::{Cause, Refusal, detailed, internal},
    state::{RateLimitHeaders, Since},
};

/// Answers of JSON and personal data: not to be sniffed, framed, leaked or kept.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Names the request, runs it inside a span that holds neither words nor headers, and finishes its answer.
pub(super) async fn track(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let id = request_id::of(request.headers(), state.ids.as_ref());
    // The route's pattern and not the path: paths hold ids, and whatever else a client makes up.
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", %id, %method, route);
    let traced = traced(request.headers(), &id, method.as_str(), &route);
    let rate_limit = RateLimitHeaders::default();
    request.extensions_mut().insert(rate_limit.clone());
    let (begun, since) = (Instant::now(), Since::now());
    request.extensions_mut().insert(since.clone());
    let longest = state.patterns.wait(&route, &method).longest(&state.settings);
    async {
        let mut work = pin!(next.run(request));
        let answer = tokio::select! {
            answer = work.as_mut() => answer,
            () = since.overdue(longest) => {
                // Before the work is dropped with the session that it waits for.
                state.ledger.db().suspect_connections();
                Error::Refused(Code::Unavailable).into_response()
            }
        };
        if let Some(budget) = answer.extensions().get::<records::Budget>() {
            state.metrics.over_budget.with_label_values(&[budget.as_str()]).inc();
        }
        let mut answer = finish(answer, &id, &state.ledger);
        rate_limit.put(answer.headers_mut());
        let status = answer.status();
        tracing::debug!(status = status.as_u16(), ms = begun.elapsed().as_millis() as u64, "answered");
        let class = format!("{}xx", status.as_u16() / 100);
        record_status(&traced, status);
        let labels = [known(method.as_str()), route.as_str(), class.as_str()];
        state.metrics.requests.with_label_values(&labels).inc();
        state.metrics.request_seconds.with_label_values(&labels).observe(begun.elapsed().as_secs_f64());
        answer
    }
    .instrument(span)
    .instrument(traced.clone())
    .await
}

/// The request as the first span of a trace of ours, or as a child of the `traceparent` that its client sent.
fn traced(headers: &HeaderMap, id: &str, method: &str, route: &str) -> Span {
    let method = known(method);
    let span = tracing::info_span!(
        target: trace::TARGET,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        request_id = id,
    );
    if span.is_disabled() {
        return span;
    }
    span.record("otel.name", format!("{method} {route}"));
    let mut sent = headers.get_all("traceparent").iter();
    // Two of them are invalid (W3C Trace Context, 3.2): it is unknown which one is meant.
    if let (Some(parent), None) = (sent.next(), sent.next()) {
        let parent = parent.to_str().ok().and_then(|parent| parent.parse::<TraceContext>().ok());
        parent.inspect(|parent| parent.lead(&span));
    }
    span
}

fn record_status(traced: &Span, status: StatusCode) {
    traced.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        traced.record("otel.status_code", "ERROR");
    }
}

/// Turns a panic into a 500 answer; the panic hook has logged it already.
pub(super) fn catch_panics() -> CatchPanicLayer<fn(Box<dyn Any + Send>) -> Response> {
    CatchPanicLayer::custom(|_| internal())
}

fn finish(mut answer: Response, id: &str, ledger: &Ledger) -> Response {
    if let Some(Cause(error)) = answer.extensions_mut().remove::<Cause>() {
        ledger.db().note_error(&error);
        // The error's own words never include the database's.
        match (error.is_passing(), error.trouble()) {
            // It may pass, but only by an operator.
            (true, Some(Trouble::Credentials | Trouble::NoDatabase)) => {
                tracing::error!(%error, "the database refuses the login");
            }
            (true, _) => tracing::warn!(%error, "the ledger is unavailable"),
            (false, _) => tracing::error!(%error, "the ledger broke"),
        }
    }
    if answer.status() == StatusCode::INTERNAL_SERVER_ERROR {
        answer = detailed(Code::Internal, format!("Internal Server Error (request {id})"));
    }
    if let Some(refusal) = answer.extensions_mut().remove::<Refusal>() {
        answer = with_body(answer, &refusal.body(Some(id)));
    }
    put_headers(answer.headers_mut());
    request_id::put(answer.headers_mut(), id);
    answer
}

/// A refusal with its body; the route gave it the length of another one.
fn with_body(answer: Response, body: &Value) -> Response {
    let (mut parts, _) = answer.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(body.to_string()))
}

/// What a handler has said itself (the poll's `Cache-Control`) stands.
fn put_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// A method's name as a label: a client may make methods up, and labels must be few.
fn known(method: &str) -> &str {
    match method {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => method,
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::sync::Arc;

    use axum::{
        Router,
        body::Body,
        middleware,
        routing::{get, post},
    };
    use prometheus::Registry;
    use tower::ServiceExt;

    use super::*;
    use crate::{Metrics, Settings, ids::SystemIds};

    /// The middleware with default settings, before a route that never answers and one that wants a body.
    fn tracked(registry: &Registry) -> Router {
        let ledger = ledger::Ledger::new(db::Hosts::default(), ledger::Settings::default());
        let metrics = Metrics::register(registry).unwrap();
        let patterns = crate::state::Patterns::default();
        let settings = Settings::default();
        let state =
            AppState::new(ledger, Arc::new(|_| true), settings, metrics, Arc::new(SystemIds), patterns);
        Router::new()
            .route("/never", get(std::future::pending::<StatusCode>))
            .route("/read", post(read))
            .with_state(state.clone())
            .layer(middleware::from_fn_with_state(state, track))
    }

    async fn read(body: crate::read::Body) -> Result<StatusCode, Error> {
        crate::read::object(body, |_| Some(StatusCode::OK))
    }

    #[tokio::test(start_paused = true)]
    async fn request_body_that_never_ends_is_408() {
        let silent = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let answer =
            tracked(&Registry::new()).oneshot(Request::post("/read").body(silent).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn request_without_an_answer_is_503_after_its_deadline() {
        let router = tracked(&Registry::new());
        let begun = tokio::time::Instant::now();
        let request = Request::get("/never").body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.headers().contains_key(header::RETRY_AFTER));
        assert_eq!(begun.elapsed().as_secs(), 20);
    }

    #[tokio::test]
    async fn unknown_methods_are_counted_as_one() {
        let registry = Registry::new();
        let router = tracked(&registry);
        for method in ["BREW1", "BREW2", "GET"] {
            let request = Request::builder().method(method).uri("/read").body(Body::empty()).unwrap();
            assert_eq!(router.clone().oneshot(request).await.unwrap().status(), 405, "{method}");
        }
        let families = registry.gather();
        let requests = families.iter().find(|family| family.name() == "listen_http_requests_total").unwrap();
        let labels = requests.get_metric().iter().flat_map(|series| series.get_label());
        let methods: Vec<&str> =
            labels.filter(|label| label.name() == "method").map(|label| label.value()).collect();
        assert_eq!(methods, ["GET", "other"]);
    }
}
