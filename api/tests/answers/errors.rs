//! Error bodies: the code, the link to its explanation and the request id beside FastAPI's `detail`.

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{Bench, P};

#[tokio::test]
async fn errors_have_a_code_beside_fastapis_detail() {
    let bench = Bench::new().await;
    let hook = json!({ "url": "https://example.org" });
    assert_eq!(bench.post(&format!("{P}/webhooks"), hook.clone()).await.status, 200);
    let ask = async |method: Method, path: &str, body: Option<Value>| {
        let answer = bench.ask(&bench.key, method, path, body).await;
        (answer.status.as_u16(), answer.beside.unwrap_or_default())
    };
    let webhooks = format!("{P}/webhooks");
    let of = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(ask(Method::GET, &format!("{P}/goals/x"), None).await, of(404, "not_found"));
    assert_eq!(ask(Method::GET, "/nothing", None).await, of(404, "unknown_path"));
    assert_eq!(ask(Method::PUT, &webhooks, None).await, of(405, "method_not_allowed"));
    assert_eq!(ask(Method::POST, &webhooks, Some(hook)).await, of(409, "webhook_exists"));
    assert_eq!(ask(Method::GET, &format!("{P}/goals?limit=x"), None).await, of(422, "invalid_request"));
    let strange = bench.ask("lsk_none", Method::GET, &webhooks, None).await;
    assert_eq!(strange.beside.as_deref(), Some("not_authenticated"));
}

#[tokio::test]
async fn errors_repeat_the_clients_request_id() {
    let bench = Bench::new().await;
    let request = Request::builder().uri("/nothing").header("x-request-id", "mine-1");
    let answer = bench.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let length = answer.headers().get("content-length").map(|length| length.to_str().unwrap().to_owned());
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert!(length.is_none_or(|length| length == bytes.len().to_string()));
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        body,
        json!({
            "detail": "Not Found", "code": "unknown_path", "doc_url": "/docs/errors#unknown_path",
            "request_id": "mine-1",
        })
    );
}

#[tokio::test]
async fn error_doc_urls_resolve() {
    let bench = Bench::new().await;
    let request = Request::builder().uri("/docs/errors").body(Body::empty()).unwrap();
    let page = bench.app.clone().oneshot(request).await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = String::from_utf8(to_bytes(page.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
    let document = api::document(&api::Settings::default());
    let codes = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    assert!(codes.len() > 40);
    for code in codes {
        assert!(page.contains(&format!("<article id=\"{}\">", code.as_str().unwrap())), "{code}");
    }
}

#[tokio::test]
async fn root_redirects_browsers_to_the_docs() {
    let bench = Bench::new().await;
    for (accept, status) in
        [("text/html,application/xhtml+xml,*/*;q=0.8", 307), ("application/json", 404), ("*/*", 404)]
    {
        let request = Request::builder().uri("/").header("accept", accept).body(Body::empty()).unwrap();
        let answer = bench.app.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{accept}");
        let place = answer.headers().get("location").map(|place| place.to_str().unwrap());
        assert_eq!(place, (status == 307).then_some("/docs"));
    }
}
