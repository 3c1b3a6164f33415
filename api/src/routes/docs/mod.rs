//! The page for people: Swagger UI over `/openapi.json`, in the colours of the console. Nothing comes from elsewhere.

mod errors;

use axum::body::Bytes;

/// What a browser may do with it: its own scripts and styles, and calls of this service.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The text of a document, as the program holds it.
#[derive(Clone)]
pub(super) enum Text {
    /// As it is.
    Plain(Bytes),
    /// Compressed.
    Gzip(&'static [u8]),
}

/// Every file: where it is served, what it is, and its text.
pub(super) fn files() -> [(&'static str, &'static str, Text); 6] {
    let plain = |text: &'static str| Text::Plain(Bytes::from_static(text.as_bytes()));
    [
        ("/docs", HTML, plain(include_str!("page.html"))),
        ("/docs/errors", HTML, Text::Plain(errors::render().into())),
        ("/docs/page.js", SCRIPT, plain(include_str!("page.js"))),
        ("/docs/style.css", STYLE, plain(include_str!("style.css"))),
        (
            "/docs/swagger-ui-bundle.js",
            SCRIPT,
            Text::Gzip(include_bytes!("swagger-ui/swagger-ui-bundle.js.gz")),
        ),
        ("/docs/swagger-ui.css", STYLE, Text::Gzip(include_bytes!("swagger-ui/swagger-ui.css.gz"))),
    ]
}
