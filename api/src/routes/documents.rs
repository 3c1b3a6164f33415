//! `/openapi.json`, `/docs` and `/live`: what the service says of itself and the page to speak to, made once at start and compressed once when it is first
//! asked for.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use super::tagged::{fingerprint, is_current};
use crate::{
    Settings,
    door::{AsItIs, takes_gzip},
    endpoint::{Access, Endpoint},
    live::page,
};

/// A document is no page: a browser loads nothing for it.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// The document of these endpoints, the pages, and where each of them is served. They need no key.
pub(crate) fn pages(settings: &Settings, openapi: &Value) -> Vec<Endpoint> {
    let openapi = Document::under(POLICY, "application/json", openapi.to_string());
    let openapi = Arc::new(openapi);
    let files = page::FILES.iter().map(|&(path, kind, text)| (path, page::POLICY, kind, text));
    let files = files.filter(|_| settings.live.page);
    let files = files
        .map(|(path, policy, kind, text)| (path, Arc::new(Document::under(policy, kind, text.to_owned()))));
    ["/openapi.json", "/v1/dev/openapi.json"]
        .map(|path| (path, Arc::clone(&openapi)))
        .into_iter()
        .chain(files)
        .map(|(path, document)| served(path, document))
        .collect()
}

fn served(path: &'static str, document: Arc<Document>) -> Endpoint {
    Endpoint::get(path, Access::Open, async move |request: HeaderMap| document.answer(&request))
}

struct Document {
    kind: &'static str,
    policy: &'static str,
    text: Bytes,
    /// The same, compressed. `None`: it could not be.
    gzip: OnceLock<Option<Bytes>>,
    tag: String,
}

impl Document {
    fn under(policy: &'static str, kind: &'static str, text: String) -> Self {
        // Weak: what is sent may be compressed.
        let tag = format!("W/\"{}\"", fingerprint(text.as_bytes()));
        Self { kind, policy, text: text.into(), gzip: OnceLock::new(), tag }
    }

    fn answer(&self, request: &HeaderMap) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.kind),
            (header::ETAG, self.tag.as_str()),
            (header::CACHE_CONTROL, "public, no-cache"),
            (header::CONTENT_SECURITY_POLICY, self.policy),
        ];
        let mut response = match is_current(request, &self.tag) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => self.encoded(request),
        };
        put(response.headers_mut(), header::VARY, "accept-encoding");
        response.extensions_mut().insert(AsItIs);
        for (name, value) in headers {
            put(response.headers_mut(), name, value);
        }
        response
    }

    fn encoded(&self, request: &HeaderMap) -> Response {
        let gzip = takes_gzip(request).then(|| self.gzip.get_or_init(|| compressed(&self.text)).clone());
        match gzip.flatten() {
            Some(gzip) => ([(header::CONTENT_ENCODING, "gzip")], gzip).into_response(),
            None => self.text.clone().into_response(),
        }
    }
}

fn compressed(text: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
