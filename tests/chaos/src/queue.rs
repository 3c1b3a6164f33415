//! The task queue of a run in `cloud_tasks` mode: the emulator, and where its deliveries arrive.

use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use task_queue::{Emulator, INVOKER, Options, QUEUE};
use tokio::net::TcpListener;

/// Where jobs are delivered.
pub(crate) const PATH: &str = "/v1/conversation-finalization-jobs/run";
/// For whom tokens are issued.
const AUDIENCE: &str = "https://kit.example/run";
/// The emulator, and where its deliveries arrive.
pub(crate) struct TaskQueue {
    pub(crate) emulator: Emulator,
    handler: String,
    /// Until the load balancer serves it.
    pub(crate) listener: Mutex<Option<TcpListener>>,
    pub(crate) delivered: AtomicUsize,
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
