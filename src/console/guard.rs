//! What every answer of the console says to browsers, and the page of a fault once its visitor is known.

use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngExt;

use super::{Console, Fault, Frame, Visitor, visitor::Nonce};
use crate::process::chance;

/// The entry of the menu that a path belongs to.
fn menu(path: &str) -> &'static str {
    let part = path.split('/').nth(2).unwrap_or_default();
    let known = ["jobs", "replays", "webhooks", "apps", "sessions", "audit", "help"];
    known.into_iter().find(|name| *name == part).unwrap_or_default()
}

/// What every answer of the console says to browsers: nothing from elsewhere, no script but ours, in no frame,
/// kept nowhere.
pub(super) async fn guarded(console: Console, request: Request, next: Next) -> Response {
    let nonce = URL_SAFE_NO_PAD.encode(chance().random::<[u8; 16]>());
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(Nonce(nonce.clone()));
    let mut copy = parts.clone();
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(fault) = response.extensions_mut().remove::<Fault>().filter(Fault::has_visitor)
        && let Ok(visitor) = Visitor::from_request_parts(&mut copy, &console).await
    {
        let here = menu(copy.uri.path());
        response = fault.page(|heading| Frame::of(visitor, here, heading));
    }
    let policy = format!(
        "default-src 'self'; script-src 'nonce-{nonce}'; require-trusted-types-for 'script'; trusted-types htmx; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    );
    // It is made of letters that a header may have.
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
