//! `/mcp`: JSON-RPC errors, and clients that accept only JSON.

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request},
};
use futures::future::join_all;
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
    bench.send_undocumented(request.body(Body::from(body.to_owned())).unwrap()).await
}

fn is_json(headers: &HeaderMap) -> bool {
    headers["content-type"].to_str().unwrap().starts_with("application/json")
}

#[tokio::test]
async fn mcp_client_that_accepts_json_only_is_answered() {
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
async fn mcp_invalid_message_is_a_json_rpc_error() {
    let bench = Bench::new().await;
    let cases = [
        ("{\"jsonrpc\": \"2.0\",", 400, -32700, Value::Null),
        ("", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        ("[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}]", 400, -32600, Value::Null),
        ("7", 400, -32600, Value::Null),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/list"}"#, 400, -32600, json!(1)),
        (&"[".repeat(50_000), 400, -32700, Value::Null),
        (&"{\"a\":".repeat(50_000), 400, -32700, Value::Null),
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
async fn mcp_wrong_headers_are_a_json_rpc_error() {
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
async fn mcp_unknown_methods_and_tools_are_errors_and_notifications_accepted() {
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
    // Arguments in a list were answered with "no method `tools/call`".
    for params in [r#"{"name": "search", "arguments": []}"#, r#"{"arguments": {}}"#] {
        let call = format!(r#"{{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {params}}}"#);
        let refused = post(&bench, &[], &call).await;
        assert_eq!(refused.body["error"]["code"], -32602, "{params}: {refused:?}");
    }
    let accepted = post(&bench, &[], r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).await;
    assert_eq!((accepted.status.as_u16(), &accepted.body), (202, &Value::Null));
    for method in [Method::GET, Method::DELETE] {
        let answer = bench.ask(&bench.key, method, "/mcp", None).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"), "{answer:?}");
    }
}

/// Each list by words is a search: with any number of them at once, other users would wait for the sessions with the database.
#[tokio::test]
async fn mcp_lists_by_words_take_turns_like_searches() {
    let bench = Bench::new().await;
    // What they read is locked: two after the other give up after two seconds, and the last one waits for longer than it may.
    let locks = bench.database.hold_locks("lock table memories, action_items in access exclusive mode").await;
    let calls = ["list_memories", "list_action_items"].into_iter().cycle().take(7).map(|name| {
        let params = json!({ "name": name, "arguments": { "query": "budget" } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    });
    let calls: Vec<String> = calls.collect();
    let answers = join_all(calls.iter().map(|call| post(&bench, &[], call))).await;
    let words = |answer: &Answer| answer.body["result"]["content"][0]["text"].to_string();
    let refused = answers.iter().filter(|answer| words(answer).contains("Too many searches run at once"));
    // One, or three on a machine that is busy; if one ran at a time it would be four, and with three at a time none.
    assert!((1..=3).contains(&refused.count()), "{answers:?}");
    drop(locks);
    assert_eq!(post(&bench, &[], &calls[0]).await.body["result"]["structuredContent"]["memories"], json!([]));
}

#[tokio::test]
async fn mcp_time_outside_the_calendar_is_an_error_and_keeps_the_due_date() {
    let bench = Bench::new().await;
    let call = async |name: &str, arguments: Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        post(&bench, &[], &call.to_string()).await.body["result"].clone()
    };
    let made =
        call("create_action_item", json!({ "description": "Call Tom", "due_at": "2026-12-01T09:00:00Z" }))
            .await;
    let id = made["structuredContent"]["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    for outside in ["0000-01-01T00:00:00Z", "9999-12-31T23:00:00-05:00", "0001-01-01T00:00:00+01:00"] {
        for (name, arguments) in [
            ("create_action_item", json!({ "description": "x", "due_at": outside })),
            ("update_action_item", json!({ "id": id, "due_at": outside })),
            ("list_action_items", json!({ "due_after": outside })),
            ("search", json!({ "query": "Tom", "end_date": outside })),
            ("list_conversations", json!({ "start_date": outside })),
        ] {
            let refused = call(name, arguments).await;
            assert_eq!(refused["isError"], true, "{name}, {outside}: {refused}");
        }
    }
    let kept = call("list_action_items", json!({ "limit": 1.0 })).await;
    let items = kept["structuredContent"]["action_items"].as_array().unwrap_or_else(|| panic!("{kept}"));
    assert_eq!(items.len(), 1);
    assert!(items[0]["due_at"].as_str().unwrap().starts_with("2026-12-01T09:00:00"), "{kept}");
    let cleared = call("update_action_item", json!({ "id": id, "due_at": null })).await;
    assert_eq!(cleared["structuredContent"]["due_at"], Value::Null, "{cleared}");
    call("create_action_item", json!({ "description": "Call Ann" })).await;
    let one = call("list_action_items", json!({ "limit": 1.0 })).await;
    assert_eq!(one["structuredContent"]["action_items"].as_array().map(Vec::len), Some(1), "{one}");
}
