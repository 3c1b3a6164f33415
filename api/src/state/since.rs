//! How long a request has waited for the database alone.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant, sleep};

/// Goes with a request: it waits for the database from its beginning, and for its client while its body is on the way.
#[derive(Clone, Debug)]
pub(crate) struct Since(Arc<Mutex<Option<Instant>>>);

impl Since {
    /// From now on.
    pub(crate) fn now() -> Self {
        Self(Arc::new(Mutex::new(Some(Instant::now()))))
    }

    /// Waits for what the client still has to send, which is not the database's time.
    pub(crate) async fn arriving<T>(&self, body: impl Future<Output = T>) -> T {
        *self.0.lock() = None;
        let arrived = body.await;
        *self.0.lock() = Some(Instant::now());
        arrived
    }

    /// Returns once the database has been waited for so long.
    pub(crate) async fn overdue(&self, longest: Duration) {
        loop {
            let waited = self.0.lock().map_or(Duration::ZERO, |since| since.elapsed());
            if waited >= longest {
                return;
            }
            sleep(longest - waited).await;
        }
    }
}
