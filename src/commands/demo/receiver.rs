//! A webhook receiver of the demo's own: it verifies every signature and keeps a log of its own.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use secrecy::SecretString;
use tokio::{net::TcpListener, time::Instant};
use tokio_util::task::TaskTracker;

use super::report::Deliveries;

type Log = Arc<Mutex<Vec<Post>>>;

/// One post, as it arrived.
#[derive(Clone)]
struct Post {
    id: String,
    timestamp: i64,
    signature: String,
    body: Bytes,
}

/// A receiver that listens on this machine.
pub(super) struct Receiver {
    addr: SocketAddr,
    log: Log,
}

impl Receiver {
    pub(super) async fn start(tasks: &TaskTracker) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("starting a local receiver")?;
        let addr = listener.local_addr()?;
        let log = Log::default();
        let router = Router::new().route("/hook", post(receive)).with_state(log.clone());
        tasks.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { addr, log })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    /// What arrived, once `expected` different events are here, or patience is over; a moment longer, so that a
    /// doubled post would be seen, too.
    pub(super) async fn settled(
        &self,
        secret: &SecretString,
        expected: usize,
        patience: Duration,
    ) -> Deliveries {
        let begun = Instant::now();
        while self.read(secret).events < expected && begun.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.read(secret)
    }

    fn read(&self, secret: &SecretString) -> Deliveries {
        let posts = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut ids: Vec<&str> = posts.iter().map(|post| post.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let good = |post: &&Post| {
            outside::sign(secret, &post.id, post.timestamp, &post.body)
                .is_ok_and(|ours| ours == post.signature)
        };
        Deliveries {
            posts: posts.len(),
            events: ids.len(),
            verified: posts.iter().filter(good).count(),
            ..Deliveries::default()
        }
    }
}

async fn receive(State(log): State<Log>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let post = Post {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp").parse().unwrap_or_default(),
        signature: header("webhook-signature"),
        body,
    };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(post);
    StatusCode::NO_CONTENT
}
