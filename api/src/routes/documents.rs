//! `/openapi.json`, `/docs` and `/live`: what the service says of itself and the page to speak to, made once at start and compressed once when it is first
//! asked for.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    extract::{MatchedPath, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use flate2::{Compression, write::GzEncoder};

use super::tagged::{fingerprint, is_current};
use crate::{
    Error, Settings, document,
    door::{Door, takes_gzip},
    live::page,
};

/// The page's own style is all that it loads; nothing comes from elsewhere, and nothing runs.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The rendered documents of one service.
pub(crate) struct Documents {
    openapi: Document,
    asyncapi: Document,
    page: Document,
    style: Document,
    codes: Document,
    /// The page to speak to and its files, by path; none where it is switched off.
    live: Vec<(&'static str, Document)>,
}

struct Document {
    kind: &'static str,
    policy: &'static str,
    text: Bytes,
    /// The same, compressed. `None`: it could not be.
    gzip: OnceLock<Option<Bytes>>,
    tag: String,
}

/// On an answer that is sent as it is, whatever its client takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsItIs;

impl Documents {
    /// Renders them for these settings.
    pub(crate) fn of(settings: &Settings) -> Arc<Self> {
        let openapi = document::document(settings);
        let live = page::FILES.iter().filter(|_| settings.live.page);
        let live =
            live.map(|&(path, kind, text)| (path, Document::under(page::POLICY, kind, text.to_owned())));
        Arc::new(Self {
            live: live.collect(),
            page: Document::of("text/html; charset=utf-8", document::page::render(&openapi)),
            codes: Document::of("text/html; charset=utf-8", document::page::codes::render()),
            style: Document::of("text/css; charset=utf-8", document::page::STYLE.to_owned()),
            asyncapi: Document::of("application/json", page::FRAMES.to_owned()),
            openapi: Document::of("application/json", openapi.to_string()),
        })
    }
}

impl Document {
    fn of(kind: &'static str, text: String) -> Self {
        Self::under(PAGE_POLICY, kind, text)
    }

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

/// GET `/openapi.json`.
pub(super) async fn openapi(State(door): State<Door>, request: HeaderMap) -> Response {
    door.documents.openapi.answer(&request)
}

/// GET `/asyncapi.json`: the frames of the live sockets.
pub(super) async fn asyncapi(State(door): State<Door>, request: HeaderMap) -> Response {
    door.documents.asyncapi.answer(&request)
}

/// GET `/docs`.
pub(super) async fn page(State(door): State<Door>, request: HeaderMap) -> Response {
    door.documents.page.answer(&request)
}

/// GET `/docs/errors`.
pub(super) async fn codes(State(door): State<Door>, request: HeaderMap) -> Response {
    door.documents.codes.answer(&request)
}

/// GET `/docs/style.css`.
pub(super) async fn style(State(door): State<Door>, request: HeaderMap) -> Response {
    door.documents.style.answer(&request)
}

/// GET `/live` and its files: the page to speak to, where it is switched on.
pub(super) async fn live(State(door): State<Door>, path: MatchedPath, request: HeaderMap) -> Response {
    match door.documents.live.iter().find(|(served, _)| *served == path.as_str()) {
        Some((_, document)) => document.answer(&request),
        None => Error::UnknownPath.into_response(),
    }
}
