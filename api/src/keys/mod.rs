//! Keys: their text, how requests present them, and what they may do.

mod base62;
mod scope;
mod text;

use axum::http::{HeaderMap, header};

pub use scope::Scope;
pub use text::{NewKeyText, generate, generate_app_key};

pub(crate) use text::{hash_of_presented, hash_of_presented_app_key, shard_in};

/// The look-up hash of the key that a request presents in its header.
pub(crate) fn hash_of(headers: &HeaderMap) -> Option<[u8; 32]> {
    bearer(headers).and_then(hash_of_presented)
}

/// The token that a request presents in its header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
