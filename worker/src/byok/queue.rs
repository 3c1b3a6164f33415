//! Those who hold keys and wait: for a slot, or for a back-off to be over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus::IntGauge;

/// Counts those who wait, and shows how many they are.
#[derive(Clone)]
pub(super) struct Queue {
    there: Arc<AtomicUsize>,
    shown: IntGauge,
}

/// A waiting run, for as long as this lives.
pub(super) struct Waiting(Queue);

impl Queue {
    pub(super) fn new(shown: IntGauge) -> Self {
        Self { there: Arc::default(), shown }
    }

    /// A new run comes in; `None` when `most` are there.
    pub(super) fn enter_below(&self, most: usize) -> Option<Waiting> {
        let one_more = |there| (there < most).then_some(there + 1);
        self.there.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(self.joined())
    }

    /// A run that was let in before comes back; never refused.
    pub(super) fn enter(&self) -> Waiting {
        self.there.fetch_add(1, Ordering::AcqRel);
        self.joined()
    }

    fn joined(&self) -> Waiting {
        self.shown.inc();
        Waiting(self.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.there.fetch_sub(1, Ordering::AcqRel);
        self.0.shown.dec();
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
        let one = queue.enter_below(2).unwrap();
        let _two = queue.enter_below(2).unwrap();
        assert!(queue.enter_below(2).is_none());
        let back = queue.enter();
        assert_eq!(shown.get(), 3);
        drop((one, back));
        assert!(queue.enter_below(2).is_some());
        assert_eq!(shown.get(), 1);
    }
}
