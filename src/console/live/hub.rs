//! One reader for all who listen: it looks at the database at most once a second, at each thing once, whoever and
//! how many want to see it, and at nothing while nobody does.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// Rest between two looks.
const REST: Duration = Duration::from_secs(1);
/// Rest after a look that the database did not answer.
const LONG_REST: Duration = Duration::from_secs(5);
/// Listeners at once.
pub(super) const LISTENERS: usize = 64;
/// Different things that are looked at in one round.
pub(super) const TOPICS: usize = 16;

/// A part of a page, for those who may read and for those who may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Views {
    pub(in super::super) reader: Arc<str>,
    pub(in super::super) operator: Arc<str>,
}

/// Why there is nothing to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The database does not answer now.
    Away,
    /// It is no longer there.
    Gone,
}

/// What was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nobody has looked yet.
    Nothing,
    /// This.
    Views(Views),
    /// Nothing, for this reason.
    Lost(Lost),
}

type Read<T> = Box<dyn Fn(T) -> BoxFuture<'static, Result<Views, Lost>> + Send + Sync>;

/// Who looks, and who is told.
pub(super) struct Hub<T> {
    read: Read<T>,
    topics: Mutex<HashMap<T, watch::Sender<Seen>>>,
    seats: Arc<Semaphore>,
    wanted: Notify,
}

/// A listener's place: it is free again when this is dropped.
pub(super) struct Seat {
    pub(super) seen: watch::Receiver<Seen>,
    _place: OwnedSemaphorePermit,
}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Hub<T> {
    /// Begins to look, until `stop`.
    pub(super) fn start(
        stop: CancellationToken,
        read: impl Fn(T) -> BoxFuture<'static, Result<Views, Lost>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let hub = Arc::new(Self {
            read: Box::new(read),
            topics: Mutex::default(),
            seats: Arc::new(Semaphore::new(LISTENERS)),
            wanted: Notify::new(),
        });
        let looking = hub.clone();
        tokio::spawn(async move { stop.run_until_cancelled(looking.look()).await });
        hub
    }

    /// A place among those who are told of `topic`; `None`: all places are taken.
    pub(super) fn join(&self, topic: &T) -> Option<Seat> {
        let place = self.seats.clone().try_acquire_owned().ok()?;
        let mut topics = self.topics();
        if let Some(sender) = topics.get(topic) {
            return Some(Seat { seen: sender.subscribe(), _place: place });
        }
        topics.retain(|_, sender| sender.receiver_count() > 0);
        if topics.len() >= TOPICS {
            return None;
        }
        let (sender, seen) = watch::channel(Seen::Nothing);
        topics.insert(topic.clone(), sender);
        self.wanted.notify_one();
        Some(Seat { seen, _place: place })
    }

    async fn look(&self) {
        loop {
            let wanted = self.listened_to();
            if wanted.is_empty() {
                self.wanted.notified().await;
                continue;
            }
            let mut rest = REST;
            for topic in wanted {
                let seen = match (self.read)(topic.clone()).await {
                    Ok(views) => Seen::Views(views),
                    Err(lost) => {
                        rest = if lost == Lost::Away { LONG_REST } else { rest };
                        Seen::Lost(lost)
                    }
                };
                self.tell(&topic, seen);
            }
            tokio::time::sleep(rest).await;
        }
    }

    fn listened_to(&self) -> Vec<T> {
        let mut topics = self.topics();
        topics.retain(|_, sender| sender.receiver_count() > 0);
        topics.keys().cloned().collect()
    }

    fn tell(&self, topic: &T, seen: Seen) {
        if let Some(sender) = self.topics().get(topic) {
            sender.send_if_modified(|last| {
                let is_new = *last != seen;
                *last = seen;
                is_new
            });
        }
    }

    /// Nothing is awaited while this is held, and what it guards is whole at every moment.
    fn topics(&self) -> MutexGuard<'_, HashMap<T, watch::Sender<Seen>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::FutureExt;

    use super::*;

    fn counting() -> (Arc<Hub<u8>>, Arc<AtomicU64>, CancellationToken) {
        let (looks, stop) = (Arc::new(AtomicU64::new(0)), CancellationToken::new());
        let counter = looks.clone();
        let hub = Hub::start(stop.clone(), move |topic: u8| {
            let look = counter.fetch_add(1, Ordering::Relaxed);
            let text: Arc<str> = format!("{topic} at look {look}").into();
            let views = Views { reader: text.clone(), operator: text };
            async move { if topic == 9 { Err(Lost::Away) } else { Ok(views) } }.boxed()
        });
        (hub, looks, stop)
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_costs_one_look_however_many_listen() {
        let (hub, looks, _stop) = counting();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 0, "nobody listens");
        let mut seats: Vec<Seat> = (0..LISTENERS).map(|_| hub.join(&1).unwrap()).collect();
        assert!(hub.join(&1).is_none(), "all places are taken");
        tokio::time::sleep(Duration::from_millis(9_500)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 10);
        for seat in &mut seats {
            let Seen::Views(views) = seat.seen.borrow_and_update().clone() else {
                panic!("nothing was seen")
            };
            assert_eq!(&*views.reader, "1 at look 9", "a listener sees the newest, whatever they missed");
        }
        drop(seats);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(looks.load(Ordering::Relaxed) <= 11, "nobody listens any more");
        assert!(hub.join(&2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn different_things_are_bounded_too_and_room_comes_back() {
        let (hub, _, _stop) = counting();
        let mut seats: Vec<Seat> = (0..TOPICS as u8).map(|topic| hub.join(&(topic + 10)).unwrap()).collect();
        assert!(hub.join(&0).is_none());
        assert!(hub.join(&10).is_some(), "what is looked at anyway has room");
        seats.pop();
        assert!(hub.join(&0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_is_away_is_asked_less_and_an_end_ends_the_looks() {
        let (hub, looks, stop) = counting();
        let seat = hub.join(&9).unwrap();
        tokio::time::sleep(Duration::from_millis(19_500)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 4);
        assert_eq!(*seat.seen.borrow(), Seen::Lost(Lost::Away));
        stop.cancel();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 4);
    }
}
