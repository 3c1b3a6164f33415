//! Whose turn it is in each queue, where users take turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use db::index_of;
use job::Queue;

/// The user whose turn was last, for each queue. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<[Mutex<String>; Queue::ALL.len()]>);

impl Turns {
    /// The id of the user whose turn was last; empty at first.
    pub(crate) fn last(&self, queue: Queue) -> String {
        self.of(queue).clone()
    }

    pub(crate) fn set(&self, queue: Queue, user: String) {
        *self.of(queue) = user;
    }

    fn of(&self, queue: Queue) -> MutexGuard<'_, String> {
        self.0[index_of(queue)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
