//! Those who hold keys and wait: for a slot, or for a back-off to be over.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus::IntGauge;
use records::UserId;

/// Counts those who wait, by user, and shows how many they are.
#[derive(Clone)]
pub(super) struct Queue {
    there: Arc<Mutex<HashMap<UserId, usize>>>,
    shown: IntGauge,
}

/// A waiting run, for as long as this lives.
pub(super) struct Waiting {
    queue: Queue,
    user: UserId,
}

impl Queue {
    pub(super) fn new(shown: IntGauge) -> Self {
        Self { there: Arc::default(), shown }
    }

    /// A new run of the user comes in; `None` when `most` are there, or `own` of the user's.
    pub(super) fn enter_below(&self, user: &UserId, most: usize, own: usize) -> Option<Waiting> {
        let mut there = self.there.lock();
        let is_full =
            there.values().sum::<usize>() >= most || there.get(user).is_some_and(|waiting| *waiting >= own);
        (!is_full).then(|| self.joined(&mut there, user))
    }

    /// A run that was let in before comes back; never refused.
    pub(super) fn enter(&self, user: &UserId) -> Waiting {
        self.joined(&mut self.there.lock(), user)
    }

    fn joined(&self, there: &mut HashMap<UserId, usize>, user: &UserId) -> Waiting {
        *there.entry(user.clone()).or_default() += 1;
        self.shown.inc();
        Waiting { queue: self.clone(), user: user.clone() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut there = self.queue.there.lock();
        if let Some(waiting) = there.get_mut(&self.user) {
            *waiting -= 1;
        }
        there.retain(|_, waiting| *waiting > 0);
        self.queue.shown.dec();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn full_queue_refuses_new_keys_and_readmits_returning_ones() {
        let shown = IntGauge::new("waiting", "help").unwrap();
        let queue = Queue::new(shown.clone());
        let [ann, bea] = ["ann", "bea"].map(UserId::new);
        let one = queue.enter_below(&ann, 2, 2).unwrap();
        let _two = queue.enter_below(&bea, 2, 2).unwrap();
        assert!(queue.enter_below(&bea, 2, 2).is_none());
        let back = queue.enter(&ann);
        assert_eq!(shown.get(), 3);
        drop((one, back));
        assert!(queue.enter_below(&ann, 2, 2).is_some());
        assert_eq!(shown.get(), 1);
    }

    #[test]
    fn a_users_many_keys_leave_places_to_others() {
        let queue = Queue::new(IntGauge::new("waiting", "help").unwrap());
        let [ann, bea] = ["ann", "bea"].map(UserId::new);
        let _anns: Vec<Waiting> = (0..3).map(|_| queue.enter_below(&ann, 10, 3).unwrap()).collect();
        assert!(queue.enter_below(&ann, 10, 3).is_none());
        assert!(queue.enter_below(&bea, 10, 3).is_some());
    }
}
