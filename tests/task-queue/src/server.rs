//! The server: the service's routes, the keys, and the routes under `/emulator` that control and inspect it.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use parking_lot::Mutex;
use reqwest::{Client, redirect::Policy};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::AbortHandle};

use crate::{
    api,
    deliver::deliver_all,
    fault::{Fault, Kind},
    shared::{Options, Shared},
    store::Delivery,
    token::Signer,
};

/// A running emulator. Dropping it ends it.
pub struct Emulator {
    addr: SocketAddr,
    shared: Arc<Shared>,
    tasks: [AbortHandle; 2],
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Emulator {
    /// Starts one on a free port of this machine.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(options: Options) -> std::io::Result<Self> {
        Self::listen(TcpListener::bind(("127.0.0.1", 0)).await?, options)
    }

    /// Starts one on `listener`.
    ///
    /// # Errors
    /// When the listener has no address, or there is no client.
    pub fn listen(listener: TcpListener, options: Options) -> std::io::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().redirect(Policy::none()).no_proxy().build();
        let http = client.map_err(std::io::Error::other)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared { options, http, changed: Notify::new(), store: Mutex::default() });
        let router = router(Arc::clone(&shared));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        let delivering = tokio::spawn(deliver_all(Arc::clone(&shared))).abort_handle();
        Ok(Self { addr, shared, tasks: [serving, delivering] })
    }

    /// Where the API is.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Where its keys are.
    pub fn keys_url(&self) -> String {
        format!("{}/oauth2/v3/certs", self.url())
    }

    /// Lets something go wrong from now on.
    pub fn fault(&self, fault: Fault) {
        self.shared.store().faults.add(fault);
    }

    /// Nothing goes wrong any more.
    pub fn mend(&self) {
        self.shared.store().faults.clear();
    }

    /// From now on tokens are signed with another key, which is published at once.
    pub fn rotate(&self) {
        self.shared.store().key += 1;
    }

    /// Stops delivering, or goes on.
    pub fn pause(&self, paused: bool) {
        self.shared.store().paused = paused;
        self.shared.changed.notify_one();
    }

    /// Forgets all tasks that wait, as a purged queue.
    pub fn purge(&self) {
        self.shared.store().tasks.clear();
    }

    /// The tasks that are there, by name.
    pub fn tasks(&self) -> Vec<Value> {
        self.shared.store().tasks.values().map(|task| task.json.clone()).collect()
    }

    /// How many tasks were created.
    pub fn created(&self) -> u64 {
        self.shared.store().creates
    }

    /// The deliveries so far, in the order in which they ended.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.shared.store().deliveries.clone()
    }

    /// Signs with the key that is used now.
    ///
    /// # Errors
    /// When the key cannot be read.
    pub fn signer(&self) -> std::io::Result<Signer> {
        Signer::new(self.shared.store().key)
    }
}

type World = State<Arc<Shared>>;

fn router(shared: Arc<Shared>) -> Router {
    const QUEUE: &str = "/v2/projects/{project}/locations/{location}/queues/{queue}";
    Router::new()
        .route(QUEUE, get(api::queue).post(api::on_queue))
        .route(&format!("{QUEUE}/tasks"), post(api::create))
        .route(&format!("{QUEUE}/tasks/{{task}}"), get(api::task))
        .route("/oauth2/v3/certs", get(keys))
        .route("/emulator/faults", post(add_fault).delete(clear_faults))
        .route("/emulator/rotate", post(rotate))
        .route("/emulator/pause", post(pause))
        .route("/emulator/resume", post(resume))
        .route("/emulator/tasks", get(tasks).delete(purge))
        .route("/emulator/deliveries", get(deliveries))
        .with_state(shared)
}

/// The public keys: the one that signs now, and the one before.
async fn keys(State(shared): World) -> Response {
    let fault = shared.store().faults.take(|kind| match kind {
        Kind::KeysDown | Kind::KeysHang | Kind::KeysHuge => Some(kind.clone()),
        _ => None,
    });
    match fault {
        Some(Kind::KeysDown) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(Kind::KeysHang) => std::future::pending().await,
        Some(Kind::KeysHuge) => return Bytes::from(vec![b' '; 10 << 20]).into_response(),
        _ => {}
    }
    let key = shared.store().key;
    let numbers = [Some(key), key.checked_sub(1)];
    let keys: Vec<Value> =
        numbers.into_iter().flatten().filter_map(|number| Some(Signer::new(number).ok()?.jwk())).collect();
    ([(header::CACHE_CONTROL, "public, max-age=3600")], Json(json!({ "keys": keys }))).into_response()
}

async fn add_fault(State(shared): World, Json(fault): Json<Fault>) -> StatusCode {
    shared.store().faults.add(fault);
    StatusCode::NO_CONTENT
}

async fn clear_faults(State(shared): World) -> StatusCode {
    shared.store().faults.clear();
    StatusCode::NO_CONTENT
}

async fn rotate(State(shared): World) -> StatusCode {
    shared.store().key += 1;
    StatusCode::NO_CONTENT
}

async fn pause(State(shared): World) -> StatusCode {
    shared.store().paused = true;
    StatusCode::NO_CONTENT
}

async fn resume(State(shared): World) -> StatusCode {
    shared.store().paused = false;
    shared.changed.notify_one();
    StatusCode::NO_CONTENT
}

async fn tasks(State(shared): World) -> Json<Vec<Value>> {
    Json(shared.store().tasks.values().map(|task| task.json.clone()).collect())
}

async fn purge(State(shared): World) -> StatusCode {
    shared.store().tasks.clear();
    StatusCode::NO_CONTENT
}

async fn deliveries(State(shared): World) -> Json<Vec<Delivery>> {
    Json(shared.store().deliveries.clone())
}
