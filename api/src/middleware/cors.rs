//! Browsers of other origins: none unless the operator lists them (`LISTEN_CORS_ORIGINS`), and then only for the
//! interface itself, never with credentials of the browser's own.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header, request::Parts};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may remember what it was allowed.
const REMEMBER: Duration = Duration::from_secs(600);

/// What a script may read of an answer besides its body.
const EXPOSED: [HeaderName; 10] = [
    header::ETAG,
    header::LINK,
    header::LOCATION,
    header::RETRY_AFTER,
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("idempotency-replayed"),
    HeaderName::from_static("deprecation"),
    HeaderName::from_static("sunset"),
];

/// Answers preflights, and marks answers for the listed origins.
pub(super) fn layer(origins: &[String]) -> CorsLayer {
    let listed: Vec<HeaderValue> =
        origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    let allowed = move |origin: &HeaderValue, request: &Parts| {
        let path = request.uri.path();
        let is_interface = ["/v1/", "/v2/"].iter().any(|begin| path.starts_with(begin)) || path == "/mcp";
        is_interface && listed.contains(origin)
    };
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allowed))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("mcp-method"),
            HeaderName::from_static("mcp-name"),
            HeaderName::from_static("mcp-protocol-version"),
            HeaderName::from_static("mcp-session-id"),
            HeaderName::from_static("traceparent"),
            HeaderName::from_static("x-byok-openai"),
            HeaderName::from_static("x-request-id"),
        ])
        .expose_headers(EXPOSED)
        .max_age(REMEMBER)
}
