//! Webhook receivers: they verify every signature, remember every post, and misbehave as the test says.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::journal::{Journal, Post, Pushed};

/// Longer than any sender waits for a receiver.
const HANGING: Duration = Duration::from_secs(20);

/// How the receivers behave. Those below `/gone` answer 410 whatever the test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Fine,
    Hanging,
    Refusing,
    Redirecting,
}

/// All receivers behind one address; a path names an endpoint.
#[derive(Debug)]
pub(crate) struct Receivers {
    /// Where they are.
    pub(crate) url: String,
    manner: watch::Sender<Manner>,
    secrets: Arc<Mutex<HashMap<String, String>>>,
}

struct Inside {
    manner: watch::Receiver<Manner>,
    journal: Arc<Journal>,
    secrets: Arc<Mutex<HashMap<String, String>>>,
}

impl Receivers {
    pub(crate) async fn start(journal: Arc<Journal>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        let (manner, heard) = watch::channel(Manner::Fine);
        let secrets = Arc::<Mutex<HashMap<String, String>>>::default();
        let inside = Arc::new(Inside { manner: heard, journal, secrets: Arc::clone(&secrets) });
        let router = Router::new()
            .route("/hook/{name}", post(hook))
            .route("/gone/{name}", post(gone))
            .route("/push/{name}", post(push))
            .fallback(elsewhere)
            .with_state(inside);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, manner, secrets }
    }

    pub(crate) fn be(&self, manner: Manner) {
        self.manner.send_replace(manner);
    }

    /// From now on posts to `name` are verified with `secret`.
    pub(crate) fn trust(&self, name: &str, secret: &str) {
        let mut secrets = self.secrets.lock();
        secrets.insert(name.to_owned(), secret.to_owned());
    }
}

async fn hook(
    State(inside): State<Arc<Inside>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answered(&inside, |status| note(&inside, &name, &headers, &body, status)).await
}

async fn push(
    State(inside): State<Arc<Inside>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answered(&inside, |status| note_push(&inside, &name, &headers, &body, status)).await
}

/// Records what came, and answers as scripted.
async fn answered(inside: &Inside, note: impl FnOnce(StatusCode)) -> Response {
    let manner = *inside.manner.borrow();
    let status = match manner {
        Manner::Fine => StatusCode::NO_CONTENT,
        Manner::Redirecting => StatusCode::FOUND,
        Manner::Refusing | Manner::Hanging => StatusCode::SERVICE_UNAVAILABLE,
    };
    note(status);
    if manner == Manner::Hanging {
        let mut changed = inside.manner.clone();
        let _either =
            tokio::time::timeout(HANGING, changed.wait_for(|manner| *manner != Manner::Hanging)).await;
    }
    (status, [(header::LOCATION, "/elsewhere")]).into_response()
}

async fn gone(
    State(inside): State<Arc<Inside>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    note(&inside, &name, &headers, &body, StatusCode::GONE);
    StatusCode::GONE
}

async fn elsewhere(State(inside): State<Arc<Inside>>) -> StatusCode {
    inside.journal.breaches.note("a redirect of a receiver was followed".to_owned());
    StatusCode::NOT_FOUND
}

fn note(inside: &Inside, name: &str, headers: &HeaderMap, body: &Bytes, status: StatusCode) {
    let secrets = inside.secrets.lock();
    let verifier = secrets.get(name).and_then(|secret| Webhook::new(secret).ok());
    let mut theirs = axum::http::HeaderMap::new();
    for header in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        if let Some(value) = headers.get(header) {
            theirs.insert(header, value.clone());
        }
    }
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    inside.journal.posts.note(Post {
        at: inside.journal.now(),
        endpoint: name.to_owned(),
        delivery: id_of(headers),
        event: parsed["type"].as_str().unwrap_or_default().to_owned(),
        signed: verifier.is_some_and(|webhook| webhook.verify(body, &theirs).is_ok()),
        digest: hasher.finish().cast_signed(),
        status: i32::from(status.as_u16()),
    });
}

/// A reminder is not signed: what it says is compared with what was written down.
fn note_push(inside: &Inside, name: &str, headers: &HeaderMap, body: &Bytes, status: StatusCode) {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |field: &str| parsed[field].as_str().unwrap_or_default().to_owned();
    inside.journal.pushed.note(Pushed {
        at: inside.journal.now(),
        endpoint: name.to_owned(),
        delivery: id_of(headers),
        item: text("action_item_id"),
        due_at: text("due_at"),
        status: i32::from(status.as_u16()),
    });
}

fn id_of(headers: &HeaderMap) -> String {
    headers.get("webhook-id").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
