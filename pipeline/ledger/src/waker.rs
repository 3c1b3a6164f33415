//! Wake-ups: a signal after commit that says "look", nothing more. Polling is the truth.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use job::Queue;
use tokio::sync::Notify;

/// Wakes the workers of this process when work was committed here, and those who wait for a job's end.
/// A ring that is heard while a take is in flight is kept (`Notify` holds one permit), so the taker looks again.
#[derive(Clone, Default)]
pub struct Waker {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    finalization: Notify,
    creation: Notify,
    deliveries: Notify,
    pushes: Notify,
    finished: Notify,
    others: Notify,
    /// Which queues other processes are still to be told of.
    untold: [AtomicBool; 2],
}

impl Waker {
    /// Work was committed in `queue`: wakes this process at once, and others through `Ledger::carry_wakes`.
    pub fn ring(&self, queue: Queue) {
        self.hear(queue);
        self.inner.untold[index_of(queue)].store(true, Ordering::Release);
        self.inner.others.notify_one();
    }

    /// Another process committed work in `queue`.
    pub(crate) fn hear(&self, queue: Queue) {
        self.of(queue).notify_one();
    }

    /// Waits for the next ring of this process.
    pub(crate) async fn some_ring_here(&self) {
        self.inner.others.notified().await;
    }

    /// The queues that were rung by this process since the last answer.
    pub(crate) fn rung_here(&self) -> Vec<Queue> {
        let untold = |queue: &Queue| self.inner.untold[index_of(*queue)].swap(false, Ordering::AcqRel);
        Queue::ALL.iter().copied().filter(untold).collect()
    }

    /// Waits for the next ring of `queue`; a ring since the last wait counts.
    pub async fn rung(&self, queue: Queue) {
        self.of(queue).notified().await;
    }

    /// Deliveries were committed.
    pub fn deliveries_written(&self) {
        self.inner.deliveries.notify_one();
    }

    /// Waits for the next committed deliveries.
    pub async fn deliveries_waiting(&self) {
        self.inner.deliveries.notified().await;
    }

    /// Push notifications were committed, a reminder was scheduled, or a person has room for one more try.
    pub fn pushes_written(&self) {
        self.inner.pushes.notify_one();
    }

    /// Waits until there may be pushes to claim.
    pub async fn pushes_waiting(&self) {
        self.inner.pushes.notified().await;
    }

    /// A job of this process came to rest, or went back to its queue.
    pub fn job_settled(&self) {
        self.inner.finished.notify_waiters();
    }

    /// Waits until some job of this process comes to rest. Create the future before reading the row.
    pub async fn some_job_settled(&self) {
        self.inner.finished.notified().await;
    }

    fn of(&self, queue: Queue) -> &Notify {
        match queue {
            Queue::Finalization => &self.inner.finalization,
            Queue::Creation => &self.inner.creation,
        }
    }
}

/// Where in a list of all queues it stands.
pub(crate) const fn index_of(queue: Queue) -> usize {
    match queue {
        Queue::Finalization => 0,
        Queue::Creation => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn whoever_waits_hears_what_it_waits_for_once_and_nothing_else() {
        let waker = Waker::default();
        let heard = || {
            let rung = |queue| waker.rung(queue).now_or_never().is_some();
            let deliveries = waker.deliveries_waiting().now_or_never().is_some();
            let pushes = waker.pushes_waiting().now_or_never().is_some();
            [rung(Queue::Finalization), rung(Queue::Creation), deliveries, pushes]
        };
        assert_eq!(heard(), [false; 4]);
        let rings: [fn(&Waker); 4] = [
            |waker| waker.ring(Queue::Finalization),
            |waker| waker.ring(Queue::Creation),
            Waker::deliveries_written,
            Waker::pushes_written,
        ];
        for (nth, ring) in rings.into_iter().enumerate() {
            ring(&waker);
            assert_eq!(heard(), [0, 1, 2, 3].map(|which| which == nth));
            assert_eq!(heard(), [false; 4]);
        }
    }

    #[test]
    fn what_is_rung_here_is_to_be_told_once() {
        let waker = Waker::default();
        assert_eq!(waker.rung_here(), []);
        waker.ring(Queue::Creation);
        waker.ring(Queue::Creation);
        waker.hear(Queue::Finalization);
        assert!(waker.some_ring_here().now_or_never().is_some());
        assert_eq!(waker.rung_here(), [Queue::Creation]);
        assert_eq!(waker.rung_here(), []);
    }

    #[test]
    fn all_who_wait_for_a_jobs_end_hear_of_one() {
        let waker = Waker::default();
        waker.job_settled();
        let (mut one, mut other) = (pin!(waker.some_job_settled()), pin!(waker.some_job_settled()));
        assert!(one.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        waker.job_settled();
        assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
    }
}
