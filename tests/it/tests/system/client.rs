//! A plain client with a developer key.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::process::PATIENCE;

/// A client of one process.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    key: String,
    /// Sent as `X-BYOK-OpenAI`.
    model_key: Option<String>,
    /// Sent as `traceparent`.
    trace: Option<String>,
}

impl Client {
    pub(crate) fn new(base: &str, key: &str) -> Self {
        Self { http: http(), base: base.to_owned(), key: key.to_owned(), model_key: None, trace: None }
    }

    /// The same user with a model key.
    pub(crate) fn with_model_key(&self, model_key: &str) -> Self {
        Self { model_key: Some(model_key.to_owned()), ..Self::new(&self.base, &self.key) }
    }

    /// The same user, whose requests are part of a trace.
    pub(crate) fn with_trace(&self, trace: &str) -> Self {
        Self { trace: Some(trace.to_owned()), ..Self::new(&self.base, &self.key) }
    }

    /// Makes a webhook endpoint.
    pub(crate) async fn register_webhook(&self, url: &str) {
        self.post("/v1/dev/user/webhooks", &json!({ "url": url })).await;
    }

    /// Stores segments to be finalized later, and answers the conversation's id.
    pub(crate) async fn ingest(&self, lines: &[&str]) -> String {
        let made = self.post("/v1/dev/user/conversations/from-segments", &deferred(lines)).await;
        made["id"].as_str().expect("a conversation has an id").to_owned()
    }

    /// Ends the user's live conversation.
    pub(crate) async fn end_live(&self) {
        self.post("/v1/conversations", &json!({})).await;
    }

    pub(crate) async fn finalize(&self, id: &str) {
        self.post(&format!("/v1/conversations/{id}/finalize"), &json!({})).await;
    }

    /// Ingests and finalizes; answers the conversation's id.
    pub(crate) async fn admit(&self, lines: &[&str]) -> String {
        let id = self.ingest(lines).await;
        self.finalize(&id).await;
        id
    }

    /// Polls until the newest job of the conversation is terminal, and answers the last poll.
    pub(crate) async fn finished(&self, id: &str) -> Value {
        let begun = Instant::now();
        loop {
            let poll = self.get(&format!("/v1/conversations/{id}/finalization")).await;
            if poll["terminal"] == true {
                return poll;
            }
            assert!(begun.elapsed() < PATIENCE, "the job is still {poll}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn conversation(&self, id: &str) -> Value {
        self.get(&format!("/v1/dev/user/conversations/{id}")).await
    }

    /// The descriptions of a conversation's action items.
    pub(crate) async fn items(&self, id: &str) -> Vec<String> {
        let all = self.get(&format!("/v1/dev/user/action-items?conversation_id={id}")).await;
        let words = |item: &Value| item["description"].as_str().expect("an item has words").to_owned();
        all.as_array().expect("a list").iter().map(words).collect()
    }

    /// One request, whatever it is answered.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        if let Some(key) = &self.model_key {
            request = request.header("X-BYOK-OpenAI", key);
        }
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.expect("the service answers");
        (answer.status(), answer.json().await.expect("it answers in JSON"))
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(Method::POST, path, Some(body)).await;
        assert!(status.is_success(), "POST {path} answered {status}: {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask(Method::GET, path, None).await;
        assert!(status.is_success(), "GET {path} answered {status}: {answer}");
        answer
    }
}

/// The body of a deferred create: the user and another speaker take turns.
pub(crate) fn deferred(lines: &[&str]) -> Value {
    let segment = |(index, text): (usize, &&str)| {
        let (start, is_user) = (index as f64 * 6.0, index % 2 == 0);
        let speaker = if is_user { "SPEAKER_00" } else { "SPEAKER_01" };
        json!({ "text": text, "start": start, "end": start + 5.5, "is_user": is_user, "speaker": speaker })
    };
    let segments: Vec<Value> = lines.iter().enumerate().map(segment).collect();
    json!({ "transcript_segments": segments, "defer_processing": true })
}

/// The status and the text of a page that asks for no key.
pub(crate) async fn page(url: &str) -> (StatusCode, String) {
    let answer = http().get(url).send().await.expect("the page answers");
    (answer.status(), answer.text().await.expect("the page is text"))
}

/// A client for plain HTTP: it does not read the system's certificates, which is slow in a build for tests.
pub(crate) fn http() -> reqwest::Client {
    // Another test of this process may have been first: the library is the same.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let made = reqwest::Client::builder().no_proxy().timeout(PATIENCE).tls_certs_only([]).build();
    made.expect("a client can be made")
}
