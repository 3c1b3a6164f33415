//! A webhook receiver of the demo's own: it verifies every signature and keeps a log of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
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

impl Post {
    /// Verifies as a receiver does, after the text of Standard Webhooks: the code that signed is not asked.
    fn is_signed_with(&self, secret: &SecretString) -> bool {
        let Some(key) = secret.expose_secret().strip_prefix("whsec_") else { return false };
        let key = STANDARD.decode(key).unwrap_or_default();
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return false };
        for part in [self.id.as_bytes(), b".", self.timestamp.to_string().as_bytes(), b".", &self.body] {
            mac.update(part);
        }
        let ours = mac.finalize().into_bytes();
        let signatures = self.signature.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
        let is_ours =
            |signature: &str| STANDARD.decode(signature).is_ok_and(|bytes| bytes == ours.as_slice());
        !key.is_empty() && signatures.into_iter().any(is_ours)
    }
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
        let posts = self.log.lock().clone();
        let mut ids: Vec<&str> = posts.iter().map(|post| post.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let good = |post: &&Post| post.is_signed_with(secret);
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
    log.lock().push(post);
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks libraries.
    fn example() -> Post {
        Post {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            timestamp: 1_614_265_330,
            signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned(),
            body: Bytes::from_static(br#"{"test": 2432232314}"#),
        }
    }

    #[test]
    fn demo_receiver_verifies_the_published_example_only() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert!(example().is_signed_with(&secret));
        assert!(!example().is_signed_with(&SecretString::from("whsec_AAAA")));
        assert!(!example().is_signed_with(&SecretString::from("whsec_")));
        assert!(!Post { timestamp: 1_614_265_331, ..example() }.is_signed_with(&secret));
        assert!(!Post { body: Bytes::from_static(b"{}"), ..example() }.is_signed_with(&secret));
        assert!(!Post { signature: String::new(), ..example() }.is_signed_with(&secret));
    }
}
