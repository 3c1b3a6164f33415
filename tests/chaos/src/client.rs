//! A plain HTTP client.

use std::time::Duration;

use axum::body::Bytes;
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a delivery of a task may take.
const DELIVERY: Duration = Duration::from_secs(1_500);

/// Sends requests; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Client(reqwest::Client);

impl Client {
    pub(crate) fn new() -> Self {
        let _another_test_was_first = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build();
        Self(client.expect("a client can be made"))
    }

    /// One request: its status (0 when no answer came) and what was said.
    pub(crate) async fn ask(
        &self,
        method: Method,
        url: &str,
        key: &str,
        body: Option<&Value>,
    ) -> (i32, Value) {
        self.ask_with(method, url, key, [None, None], body).await
    }

    /// The same with the user's own model key and an `Idempotency-Key`.
    pub(crate) async fn ask_with(
        &self,
        method: Method,
        url: &str,
        key: &str,
        [model_key, name]: [Option<&str>; 2],
        body: Option<&Value>,
    ) -> (i32, Value) {
        let mut request = self.0.request(method, url).bearer_auth(key);
        if let Some(model_key) = model_key {
            request = request.header("X-BYOK-OpenAI", model_key);
        }
        if let Some(name) = name {
            request = request.header("Idempotency-Key", name);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        match request.send().await {
            Ok(answer) => {
                let status = i32::from(answer.status().as_u16());
                match answer.text().await {
                    Ok(text) => (status, serde_json::from_str(&text).unwrap_or_default()),
                    Err(_) => (0, Value::Null),
                }
            }
            Err(_) => (0, Value::Null),
        }
    }

    /// Hands a request on, as a load balancer does, and waits for as long as a task queue would.
    pub(crate) async fn forward(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Option<(StatusCode, HeaderMap, Bytes)> {
        let sent = self.0.post(url).headers(headers).body(body).timeout(DELIVERY).send().await.ok()?;
        let (status, headers) = (sent.status(), sent.headers().clone());
        Some((status, headers, sent.bytes().await.ok()?))
    }

    /// A page that needs no key.
    pub(crate) async fn page(&self, url: &str) -> Option<String> {
        self.0.get(url).send().await.ok()?.text().await.ok()
    }
}

/// Three segments about the parts of conversation `number`, to be finalized later.
pub(crate) fn segments(number: i64) -> Value {
    let lines = [
        format!("I will order part zq{number:06}a by Friday."),
        format!("And I have to paint gate zq{number:06}b before the winter."),
        format!("I love my tool zq{number:06}m, it is my favourite one."),
    ];
    let segment = |(index, text): (usize, &String)| {
        let start = index as f64 * 6.0;
        json!({ "text": text, "start": start, "end": start + 5.0, "is_user": index != 1, "speaker": "SPEAKER_00" })
    };
    let segments: Vec<Value> = lines.iter().enumerate().map(segment).collect();
    json!({ "transcript_segments": segments, "defer_processing": true, "client_session_id": format!("s-{number}") })
}

/// The same as text, or noise that the judge discards.
pub(crate) fn text(number: i64, noise: bool) -> Value {
    match noise {
        true => json!({ "text": "um uh hmm testing testing microphone test" }),
        false => json!({ "text": format!(
            "I will order part zq{number:06}a by Friday. And I have to paint gate zq{number:06}b before the winter. \
             I love my tool zq{number:06}m, it is my favourite one."
        ) }),
    }
}
