//! `/openapi.json`, `/docs` and `/live`: what the service says of itself, the page that shows it, and the page to speak
//! to.

use std::{
    io::{Read, Write},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde_json::Value;

use super::{
    docs::{self, Text},
    tagged::{fingerprint, is_current},
};
use crate::{
    Access, Endpoint, Settings, live,
    middleware::{AsItIs, takes_gzip},
};

/// A document is no page: a browser loads nothing for it.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

const JSON: &str = "application/json";

/// The document of these endpoints, the page that shows it, and the page to speak to. They need no key.
pub(crate) fn pages(settings: &Settings, openapi: &Value) -> Vec<Endpoint> {
    let openapi = Arc::new(Document::of(POLICY, JSON, Text::Plain(openapi.to_string().into())));
    let documents = ["/openapi.json", "/v1/dev/openapi.json"].map(|path| (path, Arc::clone(&openapi)));
    let frames = Text::Plain(Bytes::from_static(live::page::FRAMES.as_bytes()));
    let frames = ("/asyncapi.json", Document::of(POLICY, JSON, frames));
    let shown = docs::files().map(|(path, kind, text)| (path, Document::of(docs::POLICY, kind, text)));
    let live = live::page::FILES.iter().filter(|_| settings.live.page).map(|&(path, kind, text)| {
        (path, Document::of(live::page::POLICY, kind, Text::Plain(Bytes::from_static(text.as_bytes()))))
    });
    let pages =
        shown.into_iter().chain([frames]).chain(live).map(|(path, document)| (path, Arc::new(document)));
    documents.into_iter().chain(pages).map(|(path, document)| served(path, document)).collect()
}

fn served(path: &'static str, document: Arc<Document>) -> Endpoint {
    Endpoint::get(path, Access::Open, async move |request: HeaderMap| document.answer(&request))
}

/// What is served at one address; compressed or unpacked once, when that is first asked for.
struct Document {
    kind: &'static str,
    policy: &'static str,
    text: Text,
    /// The other form. `None`: it could not be made.
    other: OnceLock<Option<Bytes>>,
    tag: String,
}

impl Document {
    fn of(policy: &'static str, kind: &'static str, text: Text) -> Self {
        let held = match &text {
            Text::Plain(text) => text.as_ref(),
            Text::Gzip(text) => text,
        };
        // Weak: what is sent may be compressed.
        let tag = format!("W/\"{}\"", fingerprint(held));
        Self { kind, policy, text, other: OnceLock::new(), tag }
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
        let zipped = |text: Bytes| ([(header::CONTENT_ENCODING, "gzip")], text).into_response();
        match (&self.text, takes_gzip(request)) {
            (Text::Plain(text), false) => text.clone().into_response(),
            (Text::Plain(text), true) => match self.other.get_or_init(|| compressed(text)) {
                Some(gzip) => zipped(gzip.clone()),
                None => text.clone().into_response(),
            },
            (Text::Gzip(text), true) => zipped(Bytes::from_static(text)),
            (Text::Gzip(text), false) => match self.other.get_or_init(|| unpacked(text)) {
                Some(plain) => plain.clone().into_response(),
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            },
        }
    }
}

fn compressed(text: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn unpacked(gzip: &[u8]) -> Option<Bytes> {
    let mut text = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut text).ok()?;
    Some(text.into())
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
