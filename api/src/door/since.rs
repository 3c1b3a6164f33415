//! Since when a request waits for nobody but the database.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Goes with a request: it waits for the database from its beginning, and for its client while its body is on the way.
#[derive(Clone, Debug)]
pub(crate) struct Since(Arc<Mutex<Option<Instant>>>);

impl Since {
    /// From now on.
    pub(crate) fn now() -> Self {
        Self(Arc::new(Mutex::new(Some(Instant::now()))))
    }

    /// Waits for what the client still has to send. A client that goes meanwhile has waited for nobody.
    pub(crate) async fn arriving<T>(&self, body: impl Future<Output = T>) -> T {
        *self.lock() = None;
        let arrived = body.await;
        *self.lock() = Some(Instant::now());
        arrived
    }

    /// Whether it has waited so long.
    pub(super) fn is_longer_than(&self, patience: Duration) -> bool {
        self.lock().is_some_and(|since| since.elapsed() >= patience)
    }

    /// Nothing is awaited while this is held.
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
