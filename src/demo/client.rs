//! The demo as a client of the service: plain HTTP with a developer key, as anybody would.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A client with its key.
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    key: SecretString,
}

impl Client {
    pub(super) fn new(base: String, key: SecretString) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?;
        Ok(Self { http, base, key })
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn key(&self) -> &SecretString {
        &self.key
    }

    /// Makes an endpoint and answers its secret.
    pub(super) async fn create_webhook(&self, url: &str) -> anyhow::Result<SecretString> {
        let body = json!({ "url": url });
        let made = self.call(Method::POST, "/v1/dev/user/webhooks", Some(&body)).await?;
        Ok(SecretString::from(text(&made, "secret")?))
    }

    /// Stores segments to be finalized later, and answers the conversation's id.
    pub(super) async fn ingest(&self, segments: &Value) -> anyhow::Result<String> {
        let body = json!({ "transcript_segments": segments, "defer_processing": true });
        text(&self.call(Method::POST, "/v1/dev/user/conversations/from-segments", Some(&body)).await?, "id")
    }

    /// Creates a conversation from text, and answers its id.
    pub(super) async fn create(&self, body: &Value) -> anyhow::Result<String> {
        text(&self.call(Method::POST, "/v1/dev/user/conversations", Some(body)).await?, "id")
    }

    /// Admits a stored conversation into the outbox.
    pub(super) async fn finalize(&self, id: &str) -> anyhow::Result<()> {
        self.call(Method::POST, &format!("/v1/conversations/{id}/finalize"), Some(&json!({}))).await.map(drop)
    }

    /// The poll of a conversation's newest job.
    pub(super) async fn poll(&self, id: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, &format!("/v1/conversations/{id}/finalization"), None).await
    }

    /// Polls until the job is terminal.
    pub(super) async fn wait(&self, id: &str, patience: Duration) -> anyhow::Result<Value> {
        let begun = Instant::now();
        loop {
            let poll = self.poll(id).await?;
            if poll["terminal"] == true {
                return Ok(poll);
            }
            if begun.elapsed() > patience {
                bail!("the job is still {} after {} s", poll["status"], patience.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// One conversation.
    pub(super) async fn conversation(&self, id: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, &format!("/v1/dev/user/conversations/{id}"), None).await
    }

    /// What a conversation's segments say, in order.
    pub(super) async fn transcript(&self, id: &str) -> anyhow::Result<Vec<String>> {
        let path = format!("/v1/dev/user/conversations/{id}?include_transcript=true");
        let shown = self.call(Method::GET, &path, None).await?;
        let words = |segment: &Value| segment["text"].as_str().unwrap_or_default().to_owned();
        Ok(shown["transcript_segments"].as_array().into_iter().flatten().map(words).collect())
    }

    /// The action items of a conversation.
    pub(super) async fn items(&self, id: &str) -> anyhow::Result<Vec<String>> {
        let all =
            self.call(Method::GET, &format!("/v1/dev/user/action-items?conversation_id={id}"), None).await?;
        let words = |item: &Value| item["description"].as_str().unwrap_or_default().to_owned();
        Ok(all.as_array().into_iter().flatten().map(words).collect())
    }

    /// What was remembered of a conversation.
    pub(super) async fn memories(&self, id: &str) -> anyhow::Result<Vec<String>> {
        let all = self.call(Method::GET, "/v1/dev/user/memories?limit=1000", None).await?;
        let of = |memory: &&Value| memory["conversation_id"] == id;
        let content = |memory: &Value| memory["content"].as_str().unwrap_or_default().to_owned();
        Ok(all.as_array().into_iter().flatten().filter(of).map(content).collect())
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.base))
            .bearer_auth(self.key.expose_secret());
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.with_context(|| format!("{method} {path}"))?;
        let status = answer.status();
        let value: Value =
            answer.json().await.with_context(|| format!("reading the answer of {method} {path}"))?;
        if !status.is_success() {
            bail!("{method} {path} answered {status}: {}", value["detail"]);
        }
        Ok(value)
    }
}

fn text(value: &Value, field: &str) -> anyhow::Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("the answer has no {field}"))
}
