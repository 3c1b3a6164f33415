//! Conventions of every route: ETags, CORS, compression, redirects, and the `/docs` page.

use std::io::Read;

use api::Settings;
use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, Response},
};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{Answer, Bench, P, quick};

async fn raw(bench: &Bench, request: axum::http::request::Builder) -> Response<Body> {
    let request = request.header("authorization", format!("Bearer {}", bench.key));
    bench.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn if_none_match_is_304_until_the_record_changes() {
    let bench = Bench::new().await;
    let goal = bench.post(&format!("{P}/goals"), json!({ "title": "Read", "target_value": 3 })).await;
    let path = format!("{P}/goals/{}", goal.body["id"].as_str().unwrap());
    let first = bench.get(&path).await;
    assert!(first.header("etag").starts_with("W/\""), "{:?}", first.headers);
    assert_eq!(first.header("cache-control"), "private, no-cache");
    let varies =
        |answer: &Answer| answer.headers.get_all("vary").iter().any(|names| names == "authorization");
    assert!(varies(&first), "a browser gives what it keeps to a page without the key: {:?}", first.headers);
    let known = bench.get_known(&path, first.header("etag")).await;
    assert_eq!((known.status.as_u16(), &known.body), (304, &Value::Null));
    assert_eq!(known.header("etag"), first.header("etag"));
    assert!(varies(&known), "{:?}", known.headers);
    bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "title": "Write" }))).await;
    let changed = bench.get_known(&path, first.header("etag")).await;
    assert_eq!((changed.status.as_u16(), &changed.body["title"]), (200, &json!("Write")));
}

#[tokio::test]
async fn etag_depends_on_the_included_parts() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/conversations"), json!({ "text": "hello there" })).await;
    let path = format!("{P}/conversations/{}", made.body["id"].as_str().unwrap());
    let (plain, full) = (bench.get(&path).await, bench.get(&format!("{path}?include_transcript=true")).await);
    assert_ne!(plain.header("etag"), full.header("etag"));
}

#[tokio::test]
async fn cors_allows_listed_origins_only() {
    let origins = vec!["https://app.example".to_owned()];
    let bench = Bench::with(Settings { cors_origins: origins, ..quick() }).await;
    let preflight = |origin: &'static str, path: String| {
        Request::builder()
            .method(Method::OPTIONS)
            .uri(path)
            .header("origin", origin)
            .header("access-control-request-method", "PATCH")
            .header("access-control-request-headers", "authorization,idempotency-key")
    };
    let path = || format!("{P}/conversations/x");
    let allowed = raw(&bench, preflight("https://app.example", path())).await;
    assert_eq!(allowed.status(), 200);
    let header = |answer: &Response<Body>, name: &str| {
        answer.headers().get(name).map_or(String::new(), |value| value.to_str().unwrap().to_lowercase())
    };
    assert_eq!(header(&allowed, "access-control-allow-origin"), "https://app.example");
    let headers = header(&allowed, "access-control-allow-headers");
    for read in
        ["authorization", "content-type", "if-none-match", "idempotency-key", "x-byok-openai", "traceparent"]
    {
        assert!(headers.split(',').any(|header| header == read), "{read}: {headers}");
    }
    assert!(header(&allowed, "access-control-allow-methods").contains("patch"));
    assert_eq!(
        header(&allowed, "access-control-allow-credentials"),
        "",
        "keys are sent by scripts, not by browsers"
    );
    let strange = raw(&bench, preflight("https://evil.example", path())).await;
    assert_eq!(header(&strange, "access-control-allow-origin"), "");
    for path in ["/v1/apps", "/v2/messages", "/mcp"] {
        let allowed = raw(&bench, preflight("https://app.example", path.to_owned())).await;
        assert_eq!(header(&allowed, "access-control-allow-origin"), "https://app.example", "{path}");
        let headers = header(&allowed, "access-control-allow-headers");
        for sent in ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"] {
            assert!(headers.split(',').any(|header| header == sent), "{path}, {sent}: {headers}");
        }
    }
    let page = raw(&bench, preflight("https://app.example", "/docs".to_owned())).await;
    assert_eq!(header(&page, "access-control-allow-origin"), "", "the interface alone");
}

#[tokio::test]
async fn cors_headers_are_absent_without_configured_origins() {
    let bench = Bench::new().await;
    let request = Request::builder().uri(format!("{P}/folders")).header("origin", "https://app.example");
    let answer = raw(&bench, request).await;
    assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn responses_are_compressed_on_request() {
    let bench = Bench::new().await;
    let answer = raw(&bench, Request::builder().uri("/openapi.json").header("accept-encoding", "gzip")).await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let plain = raw(&bench, Request::builder().uri("/openapi.json")).await;
    assert!(plain.headers().get("content-encoding").is_none());
}

#[tokio::test]
async fn openapi_documents_are_compressed_once() {
    let bench = Bench::new().await;
    for path in ["/openapi.json", "/docs", "/docs/style.css", "/docs/swagger-ui-bundle.js"] {
        let body = async |encodings| {
            let answer = raw(&bench, Request::builder().uri(path).header("accept-encoding", encodings)).await;
            let header = |name| answer.headers().get(name).map_or("", |value| value.to_str().unwrap());
            let encoding = header("content-encoding").to_owned();
            assert_eq!(header("vary"), "accept-encoding", "{path}");
            (encoding, to_bytes(answer.into_body(), usize::MAX).await.unwrap())
        };
        let ((encoding, first), (_, second)) = (body("gzip").await, body("br, gzip;q=0.5").await);
        assert_eq!((encoding.as_str(), first.as_ptr()), ("gzip", second.as_ptr()), "{path}: the same memory");
        let (plain, text) = body("gzip;q=0").await;
        assert_eq!(plain, "");
        let mut unpacked = Vec::new();
        GzDecoder::new(&first[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, text, "{path}");
    }
}

#[tokio::test]
async fn request_that_refuses_every_encoding_gets_identity_not_406() {
    let bench = Bench::new().await;
    for refusal in ["*;q=0", "identity;q=0", "gzip;q=0, identity;q=0"] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{P}/memories"))
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json")
            .header("accept-encoding", refusal);
        let body = json!({ "content": "I like tea." }).to_string();
        let answer = bench.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["content"]),
            (200, &json!("I like tea.")),
            "{refusal}"
        );
        assert_eq!(answer.header("content-encoding"), "", "{refusal}");
    }
    for request in ["gzip, identity;q=0", "gzip;q=1.0, *;q=0"] {
        let request = Request::builder().uri("/openapi.json").header("accept-encoding", request);
        assert_eq!(raw(&bench, request).await.headers()["content-encoding"], "gzip");
    }
}

#[tokio::test]
async fn trailing_slash_redirects() {
    let bench = Bench::new().await;
    for (method, sent, place) in [
        (Method::GET, format!("{P}/memories/?limit=3&offset=1"), format!("{P}/memories?limit=3&offset=1")),
        (Method::POST, format!("{P}/memories/"), format!("{P}/memories")),
        (Method::PATCH, format!("{P}/goals/a%20b//"), format!("{P}/goals/a%20b")),
        (Method::GET, "/docs/".to_owned(), "/docs".to_owned()),
    ] {
        let answer = raw(&bench, Request::builder().method(method).uri(&sent)).await;
        assert_eq!(answer.status(), 307, "{sent}");
        assert_eq!(answer.headers()["location"], place.as_str());
    }
    for unknown in ["/", "/v1/", "/v1/dev/user/nothing/", "//v1/status/", "/v1/status/x"] {
        assert_eq!(raw(&bench, Request::builder().uri(unknown)).await.status(), 404, "{unknown}");
    }
}

#[tokio::test]
async fn docs_page_loads_local_files_and_calls_this_service_only() {
    let bench = Bench::new().await;
    let page = raw(&bench, Request::builder().uri("/docs")).await;
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let text = String::from_utf8(to_bytes(page.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
    let files: Vec<&str> =
        text.split('"').filter(|value| value.starts_with("/docs/") || value.starts_with("http")).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        let served = raw(&bench, Request::builder().uri(file)).await;
        assert_eq!(served.status(), 200, "{file}");
        assert!(served.headers()["content-type"].to_str().unwrap().starts_with("text/"), "{file}");
    }
}
