//! A thread for the connections to one server. hyper reads the size of a chunk byte by byte, and answers of 1xx one by one, for as
//! long as a server sends them without a pause: such a server takes this thread, and none that renews leases or answers requests.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use reqwest::{RequestBuilder, Response};
use tokio::runtime::{Builder, Runtime};

/// The thread. Cheap to clone; the last clone ends it.
#[derive(Clone)]
pub struct Reader(Arc<Owned>);

/// Ended without a wait: it may be dropped where nothing may block, and a connection may keep the thread.
struct Owned(Option<Runtime>);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Reader {
    /// `None`: the process may start no thread.
    pub fn new() -> Option<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("upstream").enable_all().build();
        Some(Self(Arc::new(Owned(Some(runtime.ok()?)))))
    }

    /// Sends a request over connections that the thread reads: what is spawned while it is sent is spawned there.
    pub async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let mut sent = pin!(request.send());
        poll_fn(|context| {
            let _entered = self.0.0.as_ref().map(Runtime::enter);
            sent.as_mut().poll(context)
        })
        .await
    }
}
