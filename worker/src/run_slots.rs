//! The slots in which jobs run: of one worker, or of all workers of a process, which has one for each shard.

use std::sync::Arc;

use job::Queue;
use tokio::sync::Semaphore;

/// Runs with keys at once in one process.
pub(crate) const KEYED: usize = 4;

/// How many runs go on at once. Waiters get their slots in the order in which they came, so that no shard waits for the backlog
/// of another one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunSlots {
    finalization: Arc<Semaphore>,
    creation: Arc<Semaphore>,
    pub(crate) delivered: Arc<Semaphore>,
    pub(crate) keyed: Arc<Semaphore>,
}

impl RunSlots {
    /// So many for each queue; what is delivered has as many of its own as the queue `finalization`.
    pub fn new(finalization: usize, creation: usize) -> Self {
        let slots = |count| Arc::new(Semaphore::new(count));
        Self {
            finalization: slots(finalization),
            creation: slots(creation),
            delivered: slots(finalization),
            keyed: slots(KEYED),
        }
    }

    pub(crate) fn of(&self, queue: Queue) -> Arc<Semaphore> {
        match queue {
            Queue::Finalization => Arc::clone(&self.finalization),
            Queue::Creation => Arc::clone(&self.creation),
        }
    }
}
