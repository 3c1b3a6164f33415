//! A webhook receiver that remembers every post.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::process::PATIENCE;

/// One post, as it arrived.
#[derive(Clone)]
struct Post {
    id: String,
    body: Value,
}

/// A receiver on this machine; it ends with the test's runtime.
pub(crate) struct Receiver {
    addr: SocketAddr,
    posts: watch::Receiver<Vec<Post>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let addr = listener.local_addr().expect("a listener has an address");
        let (tell, posts) = watch::channel(Vec::new());
        let router = Router::new().route("/hook", post(receive)).with_state(tell);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { addr, posts }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    /// Waits for `number` posts at least.
    pub(crate) async fn posts(&self, number: usize) {
        let mut posts = self.posts.clone();
        let came = tokio::time::timeout(PATIENCE, posts.wait_for(|posts| posts.len() >= number)).await;
        assert!(came.is_ok(), "{} of {number} posts came", self.posts.borrow().len());
    }

    /// How often every `webhook-id` has come.
    pub(crate) fn ids(&self) -> BTreeMap<String, usize> {
        let mut ids = BTreeMap::new();
        for post in self.posts.borrow().iter() {
            *ids.entry(post.id.clone()).or_default() += 1;
        }
        ids
    }

    /// How often every (kind of event, its data's id) has come.
    pub(crate) fn events(&self) -> BTreeMap<(String, String), usize> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut events = BTreeMap::new();
        for Post { body, .. } in self.posts.borrow().iter() {
            *events.entry((text(&body["type"]), text(&body["data"]["id"]))).or_default() += 1;
        }
        events
    }

    /// A moment, in which a post that came twice would come again.
    pub(crate) async fn quiet(&self) {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

async fn receive(
    State(tell): State<watch::Sender<Vec<Post>>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    tell.send_modify(|posts| posts.push(Post { id, body }));
    StatusCode::NO_CONTENT
}
