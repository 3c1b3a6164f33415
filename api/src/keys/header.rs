//! The key that a request presents in its header.

use axum::http::{HeaderMap, header};

use super::text::hash_of_presented;

/// The look-up hash of the key that a request presents in its header.
pub(crate) fn hash_of(headers: &HeaderMap) -> Option<[u8; 32]> {
    bearer(headers).and_then(hash_of_presented)
}

/// The token that a request presents in its header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
