//! The name of a request, in its logs and on its answer.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::ids::Ids;

/// The header that carries it, both ways.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The client's own id if it is harmless (1–64 letters, digits, `-`, `_`), else a fresh one: it goes into logs.
pub(super) fn of(headers: &HeaderMap, ids: &dyn Ids) -> String {
    let harmless = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let sent = headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(harmless);
    sent.map_or_else(|| ids.fresh().to_string(), str::to_owned)
}

/// Puts it on an answer.
pub(super) fn put(headers: &mut HeaderMap, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(HEADER, value);
    }
}
