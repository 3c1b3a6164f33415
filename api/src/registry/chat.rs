//! The turns of one process: how many there are, and their end when the process stops.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// How long turns may go on once the process is to stop; requests in flight have a little longer.
const GRACE: Duration = Duration::from_secs(15);

/// More turns than any process runs.
const PLACES: usize = 10_000;

/// The turns of one process. Cheap to clone; [`run`](Self::run) must be running while they are used.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

struct Inner {
    /// No more turns.
    closed: CancellationToken,
    /// Turns that run are to end now.
    stop: CancellationToken,
    tracker: TaskTracker,
    places: Arc<Semaphore>,
}

/// The place of one turn; given back when dropped. A stopping process waits for it.
pub(crate) struct Place {
    stop: CancellationToken,
    _permit: OwnedSemaphorePermit,
    _awaited: TaskTrackerToken,
}

impl Chat {
    /// No turns yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            closed: CancellationToken::new(),
            stop: CancellationToken::new(),
            tracker: TaskTracker::new(),
            places: Arc::new(Semaphore::new(PLACES)),
        }))
    }

    /// `soft`: no more turns; those that run have 15 s to answer, then they end as stopped. Returns when all have ended; on
    /// `hard` they end at once.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        soft.cancelled().await;
        self.0.closed.cancel();
        self.0.tracker.close();
        tokio::select! {
            () = self.0.tracker.wait() => return,
            () = tokio::time::sleep(GRACE) => {}
            () = hard.cancelled() => {}
        }
        self.0.stop.cancel();
        self.0.tracker.wait().await;
    }

    /// A place for one more turn; `None` when `most` run, or the process is stopping.
    pub(crate) fn enter(&self, most: usize) -> Option<Place> {
        let taken = PLACES.saturating_sub(self.0.places.available_permits());
        if self.0.closed.is_cancelled() || taken >= most {
            return None;
        }
        Some(Place {
            stop: self.0.stop.clone(),
            _permit: Arc::clone(&self.0.places).try_acquire_owned().ok()?,
            _awaited: self.0.tracker.token(),
        })
    }
}

impl Place {
    /// Cancelled when the turn is to end now.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_chat_turns_and_then_ends_them() {
        let (chat, soft) = (Chat::new(), CancellationToken::new());
        let place = chat.enter(1).unwrap();
        assert!(chat.enter(1).is_none(), "there is one place");
        let running = tokio::spawn(chat.clone().run(soft.clone(), CancellationToken::new()));
        soft.cancel();
        let begun = tokio::time::Instant::now();
        place.stop().cancelled().await;
        assert_eq!(begun.elapsed(), GRACE);
        assert!(chat.enter(9).is_none());
        drop(place);
        running.await.unwrap();
    }
}
