//! A receiver of webhooks that answers as scripted and shows what it was sent.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};

/// What one try sent.
pub(crate) struct Received {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

/// A receiver on this machine.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<Received>,
    gate: Arc<Semaphore>,
}

#[derive(Clone)]
struct Answering {
    answers: Arc<Mutex<Vec<StatusCode>>>,
    sender: mpsc::UnboundedSender<Received>,
    gate: Arc<Semaphore>,
}

impl Receiver {
    /// Answers with `answers` one after the other, then with 204 for ever.
    pub(crate) async fn answering(answers: &[StatusCode]) -> Self {
        Self::start(answers, Semaphore::MAX_PERMITS).await
    }

    /// Takes every call, and answers with `answers`, then with 204, when it is woken.
    pub(crate) async fn gated(answers: &[StatusCode]) -> Self {
        Self::start(answers, 0).await
    }

    /// Takes every call and answers none.
    pub(crate) async fn silent() -> Self {
        Self::start(&[], 0).await
    }

    async fn start(answers: &[StatusCode], permits: usize) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(permits));
        let answers = Arc::new(Mutex::new(answers.iter().rev().copied().collect()));
        let answering = Answering { answers, sender, gate: Arc::clone(&gate) };
        let router = Router::new().route("/hook", post(receive)).with_state(answering);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, gate }
    }

    /// The next try.
    pub(crate) async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(std::time::Duration::from_secs(20), self.received.recv()).await;
        next.expect("nothing is sent").expect("the receiver is gone")
    }

    /// Whether no try has come since the last one that was asked for.
    pub(crate) fn has_no_more_requests(&mut self) -> bool {
        self.received.try_recv().is_err()
    }

    /// Lets every call be answered.
    pub(crate) fn wake(&self) {
        self.gate.add_permits(1_000);
    }
}

async fn receive(State(state): State<Answering>, uri: Uri, headers: HeaderMap, body: Bytes) -> StatusCode {
    let answer = state.answers.lock().unwrap().pop().unwrap_or(StatusCode::NO_CONTENT);
    let _the_test_is_over = state.sender.send(Received { uri, headers, body });
    let _permit = state.gate.acquire().await.unwrap();
    answer
}
