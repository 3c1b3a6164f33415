//! The task queue of a run in `cloud_tasks` mode: the emulator, and the load balancer through which it delivers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use task_queue::{Emulator, INVOKER, Options, QUEUE};
use tokio::net::TcpListener;

use crate::run::World;

/// Where jobs are delivered.
const PATH: &str = "/v1/conversation-finalization-jobs/run";
/// For whom tokens are issued.
const AUDIENCE: &str = "https://kit.example/run";
/// What of an answer goes back to the queue, and what of a delivery goes on.
const PASSED: [HeaderName; 4] =
    [header::AUTHORIZATION, header::CONTENT_TYPE, header::RETRY_AFTER, header::USER_AGENT];

/// The emulator, and where its deliveries arrive.
pub(crate) struct TaskQueue {
    pub(crate) emulator: Emulator,
    handler: String,
    /// Until [`balance`] serves it.
    listener: Mutex<Option<TcpListener>>,
    delivered: AtomicUsize,
}

impl TaskQueue {
    pub(crate) async fn start() -> Self {
        let emulator = Emulator::start(Options::default()).await.expect("an address is free");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let handler = format!("http://{}{PATH}", listener.local_addr().expect("it has an address"));
        Self { emulator, handler, listener: Mutex::new(Some(listener)), delivered: AtomicUsize::new(0) }
    }

    /// What the processes are started with.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let all = [
            ("LISTEN_FINALIZATION_DISPATCH_MODE", "cloud_tasks".to_owned()),
            ("LISTEN_FINALIZATION_TASKS_QUEUE", QUEUE.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_API_URL", self.emulator.url()),
            ("LISTEN_FINALIZATION_TASKS_JWKS_URL", self.emulator.keys_url()),
            ("LISTEN_FINALIZATION_TASKS_HANDLER_URL", self.handler.clone()),
            ("LISTEN_FINALIZATION_TASKS_OIDC_AUDIENCE", AUDIENCE.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_INVOKER_SA", INVOKER.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_CREDENTIALS", "none".to_owned()),
        ];
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Hands every delivery to one of the processes that are there, until the runtime ends.
pub(crate) fn balance(world: &Arc<World>) {
    let Some(queue) = &world.queue else { return };
    let Some(listener) = queue.listener.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    let router = Router::new().route(PATH, post(forward)).with_state(Arc::clone(world));
    tokio::spawn(async move { axum::serve(listener, router).await });
}

async fn forward(State(world): State<Arc<World>>, headers: HeaderMap, body: Bytes) -> Response {
    let doors = world.fleet.doors();
    let turn = world.queue.as_ref().map_or(0, |queue| queue.delivered.fetch_add(1, Ordering::Relaxed));
    let Some(door) = doors.get(turn % doors.len().max(1)) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match world.client.forward(&format!("{}{PATH}", door.api), only_passed(&headers), body).await {
        Some((status, headers, body)) => (status, only_passed(&headers), body).into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    }
}

fn only_passed(headers: &HeaderMap) -> HeaderMap {
    let known = PASSED.into_iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    known.collect()
}
