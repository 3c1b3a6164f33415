//! A model server that records the key of each call, and fills any schema.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// A server on this machine with the interface of OpenAI's.
pub(crate) struct Model {
    base: String,
    asked: Asked,
}

/// The keys of all calls, in their order.
type Asked = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Script {
    asked: Asked,
    refused: &'static str,
}

impl Model {
    /// Refuses the key `refused` as the real one does: in words that repeat it.
    pub(crate) async fn refusing(refused: &'static str) -> Self {
        let asked = Asked::default();
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/embeddings", post(embed))
            .with_state(Script { asked: Arc::clone(&asked), refused });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let base = format!("http://{}/v1", listener.local_addr().expect("it has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, asked }
    }

    /// Settings of a process that uses this server, with a key of the service's own.
    pub(crate) fn settings<'a>(&'a self, own_key: &'a str) -> [(&'a str, &'a str); 5] {
        [
            ("LISTEN_TEXT_ENGINE", "openai"),
            ("LISTEN_OPENAI_BASE_URL", &self.base),
            ("LISTEN_OPENAI_API_KEY", own_key),
            ("LISTEN_OPENAI_MODEL", "fake"),
            ("LISTEN_OPENAI_EMBED_MODEL", "fake-embed"),
        ]
    }

    /// The keys of the calls since the last question, each once.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = std::mem::take(&mut *self.asked.lock().expect("no thread panicked"));
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

impl Script {
    /// Writes the key down, and answers for it when it is refused.
    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let sent = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let key = sent.strip_prefix("Bearer ").unwrap_or(sent).to_owned();
        self.asked.lock().expect("no thread panicked").push(key.clone());
        let words = json!({ "error": { "message": format!("Incorrect API key provided: {key}.") } });
        (key == self.refused).then(|| (StatusCode::UNAUTHORIZED, Json(words)).into_response())
    }
}

async fn complete(State(state): State<Script>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    if let Some(refusal) = state.refusal(&headers) {
        return refusal;
    }
    let schema = &request["response_format"]["json_schema"]["schema"];
    let content = instance("", schema, schema).to_string();
    Json(json!({
        "choices": [{ "message": { "content": content }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 },
    }))
    .into_response()
}

async fn embed(State(state): State<Script>, headers: HeaderMap) -> Response {
    if let Some(refusal) = state.refusal(&headers) {
        return refusal;
    }
    Json(json!({ "data": [{ "embedding": [0.6, 0.8] }], "usage": { "prompt_tokens": 3 } })).into_response()
}

/// The plainest value that a schema allows.
fn instance(name: &str, schema: &Value, root: &Value) -> Value {
    if let Some(place) = schema["$ref"].as_str() {
        let found = root.pointer(place.trim_start_matches('#')).expect("a reference leads somewhere");
        return instance(name, found, root);
    }
    if let Some(one) = schema["enum"].as_array().and_then(|all| all.first()) {
        return one.clone();
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return match choices.iter().any(|choice| choice["type"] == "null") {
            true => Value::Null,
            false => instance(name, &choices[0], root),
        };
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    match kinds.as_slice() {
        kinds if kinds.contains(&"null") => Value::Null,
        ["object"] => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields
                .map(|(name, schema)| (name.clone(), instance(name, schema, root)))
                .collect::<Map<_, _>>()
                .into()
        }
        ["array"] => json!([]),
        ["boolean"] => json!(true),
        ["integer" | "number"] => json!(1),
        _ if name == "emoji" => json!("🌱"),
        _ => json!("Plans for the garden"),
    }
}
