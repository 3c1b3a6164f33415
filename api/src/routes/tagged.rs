//! `ETag` and `If-None-Match` (RFC 9110): an answer that would say nothing new is 304 without a body.

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use sha2::{Digest, Sha256};

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Answers a single thing under a weak tag of what is shown. A tag of the record's own version would miss what is
/// read beside it: action items, a folder's name, a speaker's.
pub(super) fn answer(request: &HeaderMap, shape: impl Serialize) -> Response {
    // A shape of ours that cannot be written is a fault of ours; the middleware finds the words for it.
    let Ok(body) = serde_json::to_vec(&shape) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    answer_json(request, body.into())
}

/// The same of what is JSON already.
pub(super) fn answer_json(request: &HeaderMap, body: Bytes) -> Response {
    let tag = format!("W/\"{}\"", fingerprint(&body));
    let mut response = match is_current(request, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, JSON)], body).into_response(),
    };
    put(response.headers_mut(), &tag);
    response
}

/// Puts the tag on an answer, with leave to keep the answer as long as it is asked for again each time, and for the same key: the
/// browser's next user has the same cache.
pub(super) fn put(headers: &mut HeaderMap, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.append(header::VARY, HeaderValue::from_static("authorization"));
}

/// 32 hex digits that stand for these bytes.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// `If-None-Match` by weak comparison (RFC 9110, 13.1.2).
pub(super) fn is_current(request: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let sent = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|list| list.split(',')).any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_tag(known: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(known))])
    }

    #[test]
    fn if_none_match_compares_weakly_in_lists_and_star() {
        for known in ["W/\"a\"", "\"a\"", "\"x\", W/\"a\"", "*"] {
            assert!(is_current(&with_tag(known), "W/\"a\""), "{known}");
        }
        for unknown in ["W/\"b\"", "", "a b"] {
            assert!(!is_current(&with_tag(unknown), "W/\"a\""), "{unknown}");
        }
    }
}
