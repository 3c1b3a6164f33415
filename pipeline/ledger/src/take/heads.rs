//! Where takes begin to look. What was answered leaves dead entries at the front of the bells' index until the next vacuum,
//! and whoever begins there walks past all of them: after 50,000 jobs a take of eight took the server 0.7 ms instead of 0.1.
//! So a process begins where it last found the first bell. What rings before that (a repair under a job's first ready time, a
//! take of somebody else's that came to nothing, a commit that took its time) is found from the front, once a second.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use job::{Queue, Timestamp};

use super::waiting::BellRow;
use crate::waker::place;

/// How long looks may begin behind the front: as long as a taker that nobody rings sleeps.
const BEHIND: Duration = Duration::from_secs(1);

/// How old a bell is that was committed long ago: it rings from when its verb began.
const COMMITTED: chrono::Duration = chrono::Duration::seconds(1);

/// A place among the bells of a queue: those before it are passed by.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) ring_at: Timestamp,
    pub(super) job_id: String,
}

/// What a process knows of the queues that it takes from.
#[derive(Clone, Default)]
pub(crate) struct Heads(Arc<[Mutex<Head>; Queue::ALL.len()]>);

#[derive(Default)]
struct Head {
    /// Where looks begin, and when one is to begin at the front.
    begin: Option<(Place, Instant)>,
    /// At least as much was due as there was room for.
    is_crowded: bool,
}

impl Heads {
    /// Where the next look begins; `None` is the front.
    pub(super) fn begin(&self, queue: Queue, now: Instant) -> Option<Place> {
        let head = self.of(queue);
        head.begin.as_ref().filter(|(_, until)| now < *until).map(|(place, _)| place.clone())
    }

    /// Hears which bell came first in a look that began at `began`, and when that was by the database's clock. Answers how long
    /// it is until a look is to begin at the front.
    pub(super) fn hear(
        &self,
        queue: Queue,
        began: Option<&Place>,
        first: Option<&BellRow>,
        clock: Timestamp,
        now: Instant,
    ) -> Duration {
        let committed = Place { ring_at: clock - COMMITTED, job_id: String::new() };
        let place = first.map(BellRow::place).into_iter().chain([committed]).min().unwrap_or_default();
        let mut head = self.of(queue);
        let until = match (began, &head.begin) {
            (None, _) => now + BEHIND,
            (Some(_), Some((_, until))) => *until,
            // Something was written meanwhile that rings earlier.
            (Some(_), None) => return Duration::ZERO,
        };
        head.begin = Some((place, until));
        until.saturating_duration_since(now)
    }

    /// Hears how many bells a take found that had room for `slots`.
    pub(super) fn count(&self, queue: Queue, found: usize, slots: u32) {
        self.of(queue).is_crowded = found >= slots as usize;
    }

    /// Whether others who take beside this take would see the same bells: there, bells are held before they are answered, and
    /// held ones are passed by.
    pub(super) fn is_crowded(&self, queue: Queue) -> bool {
        self.of(queue).is_crowded
    }

    /// A bell is written that rings at `ring_at`: it is not passed by.
    pub(crate) fn lower(&self, queue: Queue, ring_at: Timestamp) {
        let mut head = self.of(queue);
        if head.begin.as_ref().is_some_and(|(place, _)| ring_at <= place.ring_at) {
            head.begin = None;
        }
    }

    /// What waited for another reason than its time waits no more.
    pub(crate) fn forget(&self, queue: Queue) {
        self.of(queue).begin = None;
    }

    /// Nothing is awaited while this is held.
    fn of(&self, queue: Queue) -> MutexGuard<'_, Head> {
        self.0[place(queue)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: Queue = Queue::Creation;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_700_000_000 + seconds, 0).unwrap_or_default()
    }

    /// Of heads that saw a bell of that time first, at 100 s.
    fn saw(first: Option<i64>) -> (Heads, Instant) {
        let (heads, now) = (Heads::default(), Instant::now());
        let bell = first.map(|first| BellRow::of("j", at(first)));
        assert_eq!(heads.hear(QUEUE, None, bell.as_ref(), at(100), now), BEHIND);
        (heads, now)
    }

    fn place(seconds: i64, job: &str) -> Option<Place> {
        Some(Place { ring_at: at(seconds), job_id: job.to_owned() })
    }

    #[test]
    fn a_look_begins_where_the_first_bell_was_and_no_later_than_what_may_be_uncommitted() {
        for (first, begins) in [(Some(50), place(50, "j")), (Some(100), place(99, "")), (None, place(99, ""))]
        {
            let (heads, now) = saw(first);
            assert_eq!(heads.begin(QUEUE, now), begins);
            assert_eq!(heads.begin(Queue::Finalization, now), None, "the other queue is another");
        }
    }

    #[test]
    fn once_a_second_it_begins_at_the_front_however_often_it_looks() {
        let (heads, now) = saw(Some(50));
        let later = now + BEHIND / 2;
        let left = heads.hear(QUEUE, heads.begin(QUEUE, later).as_ref(), None, at(101), later);
        assert_eq!((left, heads.begin(QUEUE, later)), (BEHIND / 2, place(100, "")));
        assert_eq!(heads.begin(QUEUE, now + BEHIND), None);
    }

    #[test]
    fn what_rings_earlier_is_looked_for_at_the_front() {
        let (heads, now) = saw(Some(50));
        let began = heads.begin(QUEUE, now);
        heads.lower(QUEUE, at(51));
        assert_eq!(heads.begin(QUEUE, now), began);
        heads.lower(Queue::Finalization, at(1));
        assert_eq!(heads.begin(QUEUE, now), began);
        heads.lower(QUEUE, at(50));
        assert_eq!(heads.begin(QUEUE, now), None);
        // A look that was under way then does not know of it.
        assert_eq!(heads.hear(QUEUE, began.as_ref(), None, at(100), now), Duration::ZERO);
        assert_eq!(heads.begin(QUEUE, now), None);
    }

    #[test]
    fn it_is_crowded_where_as_much_was_found_as_there_was_room_for() {
        let heads = Heads::default();
        for (found, slots, crowded) in [(0, 1, false), (1, 1, true), (3, 4, false), (5, 4, true)] {
            heads.count(QUEUE, found, slots);
            assert_eq!((heads.is_crowded(QUEUE), heads.is_crowded(Queue::Finalization)), (crowded, false));
        }
    }
}
