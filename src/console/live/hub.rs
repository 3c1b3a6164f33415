//! One reader for all listeners: it reads each topic at most once a second, however many listen, a few
//! concurrently, and nothing while no page listens.

use std::{
    collections::HashMap,
    hash::Hash,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Rest between two looks at the same thing.
const REST: Duration = Duration::from_secs(1);
/// Rest after a look that the database did not answer.
const LONG_REST: Duration = Duration::from_secs(5);
/// Listeners at once.
pub(super) const LISTENERS: usize = 64;
/// Different things that are looked at.
pub(super) const TOPICS: usize = 16;
/// Concurrent reads: a slow one does not delay the others.
const ABREAST: usize = 4;

/// A part of a page, for those who may read and for those who may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Views {
    pub(in super::super) reader: Arc<str>,
    pub(in super::super) operator: Arc<str>,
}

/// Why there is nothing to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Lost {
    /// The database does not answer now.
    Away,
    /// It is no longer there.
    Gone,
}

/// What was seen.
pub(in super::super) type Seen = Result<Views, Lost>;

/// The newest look at a thing, counted by when it began; `None` before the first.
type Look = Option<(u64, Seen)>;

/// Until when each topic rests: `None` while it is being read.
type Rests<T> = HashMap<T, Option<Instant>>;

type Read<T> = Box<dyn Fn(T) -> BoxFuture<'static, Seen> + Send + Sync>;

/// The reader and its listeners.
pub(super) struct Hub<T> {
    read: Read<T>,
    topics: Mutex<HashMap<T, watch::Sender<Look>>>,
    /// How many looks were begun.
    begun: AtomicU64,
    seats: Arc<Semaphore>,
    wanted: Notify,
}

/// A listener's place: it is free again when this is dropped.
pub(super) struct Seat {
    looks: watch::Receiver<Look>,
    /// The first read that is news to this listener: its page was written a moment ago,
    /// and one that was begun before it may know less.
    from: u64,
    told: Option<Seen>,
    _place: OwnedSemaphorePermit,
}

impl Seat {
    /// Waits for what this listener has not seen yet: the newest, whatever it missed. `None`: the hub has ended.
    pub(super) async fn next(&mut self) -> Option<Seen> {
        let (from, told) = (self.from, &self.told);
        let is_news = |look: &Look| {
            look.as_ref().is_some_and(|(number, seen)| *number >= from && told.as_ref() != Some(seen))
        };
        let (_, seen) = self.looks.wait_for(is_news).await.ok()?.clone()?;
        self.told = Some(seen.clone());
        Some(seen)
    }
}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Hub<T> {
    /// Begins to look with `read`, until `stop`. A look has one of few places, for which others wait: it must end.
    pub(super) fn start(
        stop: CancellationToken,
        read: impl Fn(T) -> BoxFuture<'static, Seen> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let hub = Arc::new(Self {
            read: Box::new(read),
            topics: Mutex::default(),
            begun: AtomicU64::new(0),
            seats: Arc::new(Semaphore::new(LISTENERS)),
            wanted: Notify::new(),
        });
        let looking = hub.clone();
        tokio::spawn(async move { stop.run_until_cancelled(looking.look()).await });
        hub
    }

    /// A subscription to `topic`; `None`: all are taken.
    pub(super) fn join(&self, topic: &T) -> Option<Seat> {
        let place = self.seats.clone().try_acquire_owned().ok()?;
        let mut topics = self.topics();
        topics.retain(|_, sender| sender.receiver_count() > 0);
        if topics.len() >= TOPICS && !topics.contains_key(topic) {
            return None;
        }
        let sender = topics.entry(topic.clone()).or_default();
        let from = self.begun.load(Ordering::SeqCst) + 1;
        let seat = Seat { looks: sender.subscribe(), from, told: None, _place: place };
        self.wanted.notify_one();
        Some(seat)
    }

    async fn look(&self) {
        let (mut under_way, mut rests) = (FuturesUnordered::new(), Rests::new());
        loop {
            for topic in self.due(&mut rests, ABREAST - under_way.len()) {
                under_way.push(self.read_topic(topic));
            }
            let rested = rests.values().flatten().min().copied();
            tokio::select! {
                Some((topic, rest)) = under_way.next() => {
                    rests.insert(topic, Some(Instant::now() + rest));
                }
                () = tokio::time::sleep_until(rested.unwrap_or_else(Instant::now)), if rested.is_some() => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    /// What is to be looked at now, at most so much: noted as being looked at.
    fn due(&self, rests: &mut Rests<T>, most: usize) -> Vec<T> {
        let now = Instant::now();
        rests.retain(|_, until| until.is_none_or(|until| until > now));
        let wanted = self.listened_to().into_iter().filter(|topic| !rests.contains_key(topic));
        let due: Vec<T> = wanted.take(most).collect();
        rests.extend(due.iter().map(|topic| (topic.clone(), None)));
        due
    }

    /// One read, sent to all listeners. Returns how long to leave the topic alone.
    async fn read_topic(&self, topic: T) -> (T, Duration) {
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let seen = self.seen(topic.clone()).await;
        let rest = if seen == Err(Lost::Away) { LONG_REST } else { REST };
        if let Some(sender) = self.topics().get(&topic) {
            sender.send_replace(Some((number, seen)));
        }
        (topic, rest)
    }

    /// What a look shows. One that panics is not the last.
    async fn seen(&self, topic: T) -> Seen {
        let look = AssertUnwindSafe(async { (self.read)(topic).await }).catch_unwind();
        look.await.unwrap_or_else(|_| {
            tracing::error!("looking at a page of the console panicked");
            Err(Lost::Away)
        })
    }

    /// What is listened to, what was not looked at for longest first.
    fn listened_to(&self) -> Vec<T> {
        let mut topics = self.topics();
        topics.retain(|_, sender| sender.receiver_count() > 0);
        let mut wanted: Vec<(Option<u64>, T)> = topics
            .iter()
            .map(|(topic, sender)| (sender.borrow().as_ref().map(|(number, _)| *number), topic.clone()))
            .collect();
        wanted.sort_unstable_by_key(|(number, _)| *number);
        wanted.into_iter().map(|(_, topic)| topic).collect()
    }

    /// Nothing is awaited while this is held, and what it guards is whole at every moment.
    fn topics(&self) -> MutexGuard<'_, HashMap<T, watch::Sender<Look>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::future::{pending, ready};

    use tokio::time::timeout;

    use super::*;

    /// A hub that never ends.
    fn hub(read: impl Fn(u8) -> BoxFuture<'static, Seen> + Send + Sync + 'static) -> Arc<Hub<u8>> {
        Hub::start(CancellationToken::new(), read)
    }

    fn views(text: impl Into<Arc<str>>) -> Views {
        let text = text.into();
        Views { reader: text.clone(), operator: text }
    }

    fn counting() -> (Arc<Hub<u8>>, Arc<AtomicU64>, CancellationToken) {
        let (looks, stop) = (Arc::new(AtomicU64::new(0)), CancellationToken::new());
        let counter = looks.clone();
        let read = move |topic: u8| {
            let look = counter.fetch_add(1, Ordering::Relaxed);
            let views = views(format!("{topic} at look {look}"));
            async move { if topic == 9 { Err(Lost::Away) } else { Ok(views) } }.boxed()
        };
        (Hub::start(stop.clone(), read), looks, stop)
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
            assert_eq!(words(seat).await, "1 at look 9", "a listener sees the newest, whatever they missed");
        }
        drop(seats);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(looks.load(Ordering::Relaxed) <= 11, "nobody listens any more");
        assert!(hub.join(&2).is_some());
    }

    async fn words(permit: &mut Seat) -> String {
        permit.next().await.unwrap().unwrap().reader.to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_later_is_told_nothing_that_was_seen_before() {
        let (hub, _, _stop) = counting();
        let mut first = hub.join(&1).unwrap();
        assert_eq!(words(&mut first).await, "1 at look 0");
        let mut second = hub.join(&1).unwrap();
        assert_eq!(
            words(&mut second).await,
            "1 at look 1",
            "the page that they have may be newer than look 0"
        );
        assert_eq!(words(&mut first).await, "1 at look 1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_goes_on_when_somebody_comes_is_not_for_them() {
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        let looks = AtomicU64::new(0);
        let hub = hub(move |_| {
            let views = views(looks.fetch_add(1, Ordering::Relaxed).to_string());
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(views)
            }
            .boxed()
        });
        let mut first = hub.join(&1).unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut second = hub.join(&1).unwrap();
        opened.add_permits(1);
        assert_eq!(words(&mut first).await, "0");
        assert!(timeout(Duration::from_secs(2), second.next()).await.is_err());
        opened.add_permits(1);
        assert_eq!(words(&mut second).await, "1");
    }

    #[tokio::test(start_paused = true)]
    async fn what_did_not_change_is_told_once() {
        let hub = hub(|_| ready(Err(Lost::Gone)).boxed());
        let mut seat = hub.join(&1).unwrap();
        assert_eq!(seat.next().await, Some(Err(Lost::Gone)));
        assert!(timeout(Duration::from_secs(60), seat.next()).await.is_err());
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
        let mut seat = hub.join(&9).unwrap();
        tokio::time::sleep(Duration::from_millis(19_500)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 4);
        assert_eq!(seat.next().await, Some(Err(Lost::Away)));
        stop.cancel();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_panics_is_not_the_last() {
        let looks = AtomicU64::new(0);
        let hub = hub(move |_| {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            async move {
                assert!(look > 0, "the first look panics");
                Ok(views("seen"))
            }
            .boxed()
        });
        let mut seat = hub.join(&1).unwrap();
        assert_eq!(seat.next().await, Some(Err(Lost::Away)));
        assert_eq!(words(&mut seat).await, "seen");
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_or_is_away_holds_up_nothing_else() {
        let looks: Arc<Mutex<HashMap<u8, u32>>> = Arc::default();
        let counter = Arc::clone(&looks);
        let hub = hub(move |topic| {
            *counter.lock().unwrap().entry(topic).or_default() += 1;
            match topic {
                0..3 => pending().boxed(),
                3 => ready(Err(Lost::Away)).boxed(),
                _ => ready(Ok(views("seen"))).boxed(),
            }
        });
        let _seats: Vec<Seat> = (0..6).map(|topic| hub.join(&topic).unwrap()).collect();
        tokio::time::sleep(Duration::from_millis(9_500)).await;
        let looks = looks.lock().unwrap();
        let of = |topic| looks.get(&topic).copied();
        assert_eq!([of(0), of(1), of(2)], [Some(1); 3], "one look after the other");
        assert_eq!(of(3), Some(2), "it is away, and rests longer");
        assert_eq!([of(4), of(5)], [Some(10); 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_looks_are_made_beside_each_other_and_everything_has_its_turn() {
        let gate = Arc::new(Semaphore::new(0));
        let (begun, opened) = (Arc::new(AtomicU64::new(0)), Arc::clone(&gate));
        let counter = Arc::clone(&begun);
        let hub = hub(move |topic| {
            counter.fetch_add(1, Ordering::Relaxed);
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(views(topic.to_string()))
            }
            .boxed()
        });
        let mut seats: Vec<Seat> = (0..TOPICS as u8).map(|topic| hub.join(&topic).unwrap()).collect();
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(begun.load(Ordering::Relaxed), ABREAST as u64);
        // Those that were looked at are due again long before the others had their turn.
        for _ in 0..TOPICS {
            opened.add_permits(1);
            tokio::time::sleep(2 * REST).await;
        }
        for (topic, seat) in seats.iter_mut().enumerate() {
            assert_eq!(timeout(REST, words(seat)).await, Ok(topic.to_string()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_and_comes_back_costs_no_look_more() {
        let (hub, looks, _stop) = counting();
        for _ in 0..95 {
            let _seat = hub.join(&1).unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(looks.load(Ordering::Relaxed), 10);
    }
}
