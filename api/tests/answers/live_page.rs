//! The page `/live`: its files, its content security policy, and 404 when it is disabled.

use api::{LiveSettings, Settings};
use axum::{
    body::{Body, to_bytes},
    http::{Request, Response, request::Builder},
};
use tower::ServiceExt;

use crate::bench::{Bench, quick};

const FILES: [(&str, &str); 8] = [
    ("/live", "text/html; charset=utf-8"),
    ("/live/style.css", "text/css; charset=utf-8"),
    ("/live/page.js", "text/javascript; charset=utf-8"),
    ("/live/socket.js", "text/javascript; charset=utf-8"),
    ("/live/microphone.js", "text/javascript; charset=utf-8"),
    ("/live/chat", "text/html; charset=utf-8"),
    ("/live/chat.css", "text/css; charset=utf-8"),
    ("/live/chat.js", "text/javascript; charset=utf-8"),
];

async fn speaking() -> Bench {
    let live = LiveSettings { page: true, ..LiveSettings::default() };
    Bench::with(Settings { live, ..quick() }).await
}

async fn get(bench: &Bench, request: Builder) -> Response<Body> {
    bench.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

fn header<'a>(answer: &'a Response<Body>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn live_page_loads_local_files_and_caches_them() {
    let bench = speaking().await;
    for (path, kind) in FILES {
        let answer = get(&bench, Request::get(path)).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "content-type")), (200, kind), "{path}");
        let policy = header(&answer, "content-security-policy").to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        for loose in ["unsafe", "*", "http:", "https:", "ws:"] {
            assert!(!policy.contains(loose), "{policy}");
        }
        let tag = header(&answer, "etag").to_owned();
        let same = get(&bench, Request::get(path).header("if-none-match", &tag)).await;
        assert_eq!(
            (same.status().as_u16(), header(&same, "content-security-policy")),
            (304, policy.as_str())
        );
        let text = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        for elsewhere in ["://", "src=\"//", "url(", "@import"] {
            assert!(!text.contains(elsewhere), "{path} has {elsewhere}");
        }
        if path == "/live" {
            assert!(!text.contains("<style") && !text.contains(" style="), "inline");
            assert!(text.contains("src=\"/live/page.js\"") && text.contains("href=\"/live/style.css\""));
        }
    }
}

#[tokio::test]
async fn live_page_is_404_when_disabled() {
    let bench = Bench::with(quick()).await;
    for (path, _) in FILES {
        assert_eq!(get(&bench, Request::get(path)).await.status(), 404, "{path}");
    }
    assert_eq!(get(&bench, Request::get("/live/")).await.status(), 404);
}
