//! A model server on this machine that says the same to every question, and counts tokens.

use std::net::SocketAddr;

use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Starts one and answers its base URL; it ends with the test's runtime.
pub(crate) async fn start() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
    let addr: SocketAddr = listener.local_addr().expect("a listener has an address");
    let router = Router::new().fallback(|| async { Json(completion()) });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{addr}/v1")
}

/// One object that holds the answer to every question of ours.
fn completion() -> Value {
    let answer = json!({
        "keep": true, "title": "The garden", "overview": "What is to be done in the garden.", "category": "home",
        "emoji": "🌳", "events": [], "tasks": [{ "description": "Order roof tiles" }],
        "memories": [{ "content": "Loves dahlias", "category": "interests" }], "text": "Three things to do.",
    });
    json!({
        "choices": [{ "message": { "role": "assistant", "content": answer.to_string() }, "finish_reason": "stop" }],
        "usage": {
            "prompt_tokens": 900, "completion_tokens": 80, "prompt_tokens_details": { "cached_tokens": 600 },
        },
    })
}
