//! Wake-ups: a signal after a commit that says "look", nothing more. Polling is the truth.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use job::Queue;
use tokio::sync::Notify;

/// Wakes the workers of this process when work was committed here, and those who wait for a job's end.
/// A signal that comes while a claim is in flight is kept (`Notify` holds one permit), so the worker looks again.
#[derive(Clone, Default)]
pub struct Waker {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By queue.
    queued: [Notify; Queue::ALL.len()],
    deliveries: Notify,
    pushes: Notify,
    finished: Notify,
    others: Notify,
    /// Queues of whose new jobs other processes are yet to be notified.
    unsent: [AtomicBool; Queue::ALL.len()],
}

impl Waker {
    /// A job was queued: wakes this process at once, and others through `Db::carry_wakes`.
    pub fn job_queued(&self, queue: Queue) {
        self.job_queued_elsewhere(queue);
        self.inner.unsent[index_of(queue)].store(true, Ordering::Release);
        self.inner.others.notify_one();
    }

    pub(crate) fn job_queued_elsewhere(&self, queue: Queue) {
        self.of(queue).notify_one();
    }

    pub(crate) async fn queued_here(&self) {
        self.inner.others.notified().await;
    }

    /// The queues into which this process has put jobs since the last call.
    pub(crate) fn take_unsent(&self) -> Vec<Queue> {
        let unsent = |queue: &Queue| self.inner.unsent[index_of(*queue)].swap(false, Ordering::AcqRel);
        Queue::ALL.iter().copied().filter(unsent).collect()
    }

    /// Waits until a job is queued in `queue`; one that was queued since the last wait counts.
    pub async fn jobs_waiting(&self, queue: Queue) {
        self.of(queue).notified().await;
    }

    pub fn deliveries_written(&self) {
        self.inner.deliveries.notify_one();
    }

    /// Waits for the next committed deliveries.
    pub async fn deliveries_waiting(&self) {
        self.inner.deliveries.notified().await;
    }

    /// Push notifications were committed, a reminder was scheduled, or a user has room for one more try.
    pub fn pushes_written(&self) {
        self.inner.pushes.notify_one();
    }

    /// Waits until there may be pushes to claim.
    pub async fn pushes_waiting(&self) {
        self.inner.pushes.notified().await;
    }

    /// A job of this process became terminal, or went back to its queue.
    pub fn job_settled(&self) {
        self.inner.finished.notify_waiters();
    }

    /// Waits until some job of this process is settled. Create the future before reading the row.
    pub async fn some_job_settled(&self) {
        self.inner.finished.notified().await;
    }

    fn of(&self, queue: Queue) -> &Notify {
        &self.inner.queued[index_of(queue)]
    }
}

/// Where a queue stands in a list of all queues.
pub const fn index_of(queue: Queue) -> usize {
    queue as usize
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn waker_wakes_each_waiter_once() {
        let waker = Waker::default();
        let heard = || {
            let jobs = |queue| waker.jobs_waiting(queue).now_or_never().is_some();
            let deliveries = waker.deliveries_waiting().now_or_never().is_some();
            let pushes = waker.pushes_waiting().now_or_never().is_some();
            [jobs(Queue::Finalization), jobs(Queue::Creation), deliveries, pushes]
        };
        assert_eq!(heard(), [false; 4]);
        let signals: [fn(&Waker); 4] = [
            |waker| waker.job_queued(Queue::Finalization),
            |waker| waker.job_queued(Queue::Creation),
            Waker::deliveries_written,
            Waker::pushes_written,
        ];
        for (nth, signal) in signals.into_iter().enumerate() {
            signal(&waker);
            assert_eq!(heard(), [0, 1, 2, 3].map(|which| which == nth));
            assert_eq!(heard(), [false; 4]);
        }
    }

    #[test]
    fn waker_notifies_other_processes_once_per_queue() {
        let waker = Waker::default();
        assert_eq!(waker.take_unsent(), []);
        waker.job_queued(Queue::Creation);
        waker.job_queued(Queue::Creation);
        waker.job_queued_elsewhere(Queue::Finalization);
        assert!(waker.queued_here().now_or_never().is_some());
        assert_eq!(waker.take_unsent(), [Queue::Creation]);
        assert_eq!(waker.take_unsent(), []);
    }

    #[test]
    fn waker_wakes_every_waiter_of_a_settled_job() {
        let waker = Waker::default();
        waker.job_settled();
        let (mut one, mut other) = (pin!(waker.some_job_settled()), pin!(waker.some_job_settled()));
        assert!(one.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        waker.job_settled();
        assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
    }
}
