//! The turns of one process: how many there are, in all and of each user, and their end when the process stops.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use records::UserId;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// How long turns may go on once the process is to stop; requests in flight have a little longer.
const GRACE: Duration = Duration::from_secs(15);

/// The part of all places that a user may take, one for each app at once; and how many it is at least.
const SHARE: usize = 10;
const LEAST: usize = 4;

/// The turns of one process. Cheap to clone; [`run`](Self::run) must be running while they are used.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

struct Inner {
    /// No more turns.
    closed: CancellationToken,
    /// Turns that run are to end now.
    stop: CancellationToken,
    tracker: TaskTracker,
    /// How many turns of each user run.
    running: Mutex<HashMap<UserId, usize>>,
}

/// The place of one turn; given back when dropped. A stopping process waits for it.
pub(crate) struct Place {
    chat: Chat,
    user: UserId,
    _awaited: TaskTrackerToken,
}

impl Chat {
    /// No turns yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            closed: CancellationToken::new(),
            stop: CancellationToken::new(),
            tracker: TaskTracker::new(),
            running: Mutex::default(),
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

    /// A place for one more turn of the user; `None` when `most` run, or the user's share of them, or the process is stopping.
    pub(crate) fn enter(&self, user: &UserId, most: usize) -> Option<Place> {
        let mut running = self.0.running.lock();
        let own = running.get(user).copied().unwrap_or(0);
        let is_full = running.values().sum::<usize>() >= most || own >= (most / SHARE).max(LEAST);
        if self.0.closed.is_cancelled() || is_full {
            return None;
        }
        running.insert(user.clone(), own + 1);
        Some(Place { chat: self.clone(), user: user.clone(), _awaited: self.0.tracker.token() })
    }
}

impl Place {
    /// Cancelled when the turn is to end now.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.chat.0.stop.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = self.chat.0.running.lock();
        match running.get_mut(&self.user) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(running.remove(&self.user)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_chat_turns_and_then_ends_them() {
        let (chat, soft) = (Chat::new(), CancellationToken::new());
        let ann = UserId::new("ann");
        let place = chat.enter(&ann, 1).unwrap();
        assert!(chat.enter(&ann, 1).is_none(), "there is one place");
        let running = tokio::spawn(chat.clone().run(soft.clone(), CancellationToken::new()));
        soft.cancel();
        let begun = tokio::time::Instant::now();
        place.stop().cancelled().await;
        assert_eq!(begun.elapsed(), GRACE);
        assert!(chat.enter(&ann, 9).is_none());
        drop(place);
        running.await.unwrap();
    }

    #[test]
    fn user_with_many_apps_leaves_places_for_the_chats_of_others() {
        let (chat, ann, bob) = (Chat::new(), UserId::new("ann"), UserId::new("bob"));
        let mut places: Vec<Place> = std::iter::from_fn(|| chat.enter(&ann, 50)).collect();
        assert_eq!(places.len(), 5, "a tenth");
        places.extend(chat.enter(&bob, 50));
        assert_eq!(places.len(), 6);
        places.swap_remove(0);
        assert!(chat.enter(&ann, 50).is_some(), "one has ended");
        drop(places);
        assert!(chat.0.running.lock().is_empty(), "users without a turn are forgotten");
    }
}
