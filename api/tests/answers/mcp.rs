//! `/mcp` as strangers meet it: every refusal says in JSON-RPC what is wrong, and a client that takes JSON is answered.

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request},
};
use serde_json::{Value, json};

use crate::bench::{Answer, Bench};

const LIST: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;

async fn post(bench: &Bench, headers: &[(&str, &str)], body: &str) -> Answer {
    let key = format!("Bearer {}", bench.key);
    let mut request = Request::builder().method(Method::POST).uri("/mcp").header("host", "listen.example");
    request = request.header("authorization", key);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    bench.send_unheld(request.body(Body::from(body.to_owned())).unwrap()).await
}

fn is_json(headers: &HeaderMap) -> bool {
    headers["content-type"].to_str().unwrap().starts_with("application/json")
}

#[tokio::test]
async fn a_client_that_takes_json_is_answered() {
    let bench = Bench::new().await;
    for accept in [
        None,
        Some("*/*"),
        Some("application/json"),
        Some("text/event-stream, application/json"),
        Some("application/*"),
    ] {
        let headers: Vec<_> = accept.map(|accept| ("accept", accept)).into_iter().collect();
        let answer = post(&bench, &headers, LIST).await;
        assert_eq!(answer.status, 200, "{accept:?}: {answer:?}");
        assert_eq!(answer.body["result"]["tools"].as_array().unwrap().len(), 10, "{accept:?}");
    }
    let refused = post(&bench, &[("accept", "text/html")], LIST).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["error"]["code"]),
        (406, &json!(-32600)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_is_no_message_is_refused_in_json_rpc() {
    let bench = Bench::new().await;
    let cases = [
        ("{\"jsonrpc\": \"2.0\",", 400, -32700, Value::Null),
        ("", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        ("[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}]", 400, -32600, Value::Null),
        ("7", 400, -32600, Value::Null),
        ("{\"id\": \"a\", \"method\": \"tools/list\"}", 400, -32600, json!("a")),
        ("{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"tools/list\"}", 400, -32600, json!(7)),
    ];
    for (body, status, code, id) in cases {
        let answer = post(&bench, &[], body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        assert!(is_json(&answer.headers), "{body}: {answer:?}");
        assert_eq!(answer.body["error"]["code"], code, "{body}: {answer:?}");
        assert_eq!(answer.body["jsonrpc"], "2.0", "{body}: {answer:?}");
        assert_eq!(answer.body.get("id").cloned().unwrap_or_default(), id, "{body}: {answer:?}");
    }
}

#[tokio::test]
async fn wrong_headers_are_refused_in_json_rpc_too() {
    let bench = Bench::new().await;
    let form = post(&bench, &[("content-type", "application/x-www-form-urlencoded")], LIST).await;
    let version = post(&bench, &[("mcp-protocol-version", "1999-01-01")], LIST).await;
    for (answer, status, word) in [(form, 415, "application/json"), (version, 400, "1999-01-01")] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(is_json(&answer.headers), "{answer:?}");
        assert_eq!(answer.body["error"]["code"], -32600, "{answer:?}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(word), "{answer:?}");
    }
}

#[tokio::test]
async fn unknown_methods_and_tools_are_errors_and_notifications_are_accepted() {
    let bench = Bench::new().await;
    let unknown = post(&bench, &[], r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/sing"}"#).await;
    assert_eq!(unknown.body["error"]["code"], -32601, "{unknown:?}");
    let call =
        r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sing", "arguments": {}}}"#;
    let unknown = post(&bench, &[], call).await;
    assert_eq!(
        (&unknown.body["error"]["code"], &unknown.body["id"]),
        (&json!(-32602), &json!(2)),
        "{unknown:?}"
    );
    let accepted = post(&bench, &[], r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).await;
    assert_eq!((accepted.status.as_u16(), &accepted.body), (202, &Value::Null));
    for method in [Method::GET, Method::DELETE] {
        let answer = bench.ask(&bench.key, method, "/mcp", None).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"), "{answer:?}");
    }
}
