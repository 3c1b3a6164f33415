//! The slots in which jobs run: of one worker, or of all workers of a process, which has one for each shard; and how many of
//! them each user's jobs have.

use std::collections::HashMap;
use std::sync::Arc;

use db::index_of;
use job::Queue;
use parking_lot::Mutex;
use records::UserId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Runs with keys at once in one process.
pub(crate) const KEYED: usize = 4;

/// How many runs go on at once. Waiters get their slots in the order in which they came, so that no shard waits for the backlog
/// of another one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunSlots {
    /// By queue.
    queued: [Arc<Semaphore>; Queue::ALL.len()],
    pub(crate) delivered: Arc<Semaphore>,
    pub(crate) keyed: Arc<Semaphore>,
}

impl RunSlots {
    /// So many for each queue; what is delivered has as many of its own as the queue `finalization`.
    pub fn new(finalization: usize, creation: usize) -> Self {
        let slots = |count| Arc::new(Semaphore::new(count));
        Self {
            queued: [slots(finalization), slots(creation)],
            delivered: slots(finalization),
            keyed: slots(KEYED),
        }
    }

    pub(crate) fn of(&self, queue: Queue) -> Arc<Semaphore> {
        Arc::clone(&self.queued[index_of(queue)])
    }
}

/// A slot that a run occupies until it is dropped.
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    /// Of a queue's slot it is counted whose job runs there.
    counted: Option<(Running, UserId)>,
}

impl From<OwnedSemaphorePermit> for Slot {
    fn from(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: permit, counted: None }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((running, user)) = &self.counted {
            running.remove(user);
        }
    }
}

/// How many jobs of each user run in one queue, so that one user's jobs leave slots to the others. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Running {
    counts: Arc<Mutex<Counts>>,
    /// A job has ended.
    pub(crate) freed: Arc<Notify>,
}

#[derive(Default)]
struct Counts {
    users: HashMap<UserId, u32>,
    /// The user whose job was claimed last.
    last: Option<UserId>,
}

impl Running {
    /// A slot in which a job of `user` runs.
    pub(crate) fn occupy(&self, permit: OwnedSemaphorePermit, user: &UserId) -> Slot {
        self.add(user);
        Slot { _permit: permit, counted: Some((self.clone(), user.clone())) }
    }

    fn add(&self, user: &UserId) {
        let mut counts = self.counts.lock();
        *counts.users.entry(user.clone()).or_default() += 1;
        counts.last = Some(user.clone());
    }

    fn remove(&self, user: &UserId) {
        let mut counts = self.counts.lock();
        if let Some(jobs) = counts.users.get_mut(user) {
            *jobs -= 1;
            if *jobs == 0 {
                counts.users.remove(user);
            }
        }
        self.freed.notify_one();
    }

    /// How many jobs of each user fill their share of `slots` slots, and that share: half of them. A single slot goes to
    /// another user than the last one.
    pub(crate) fn shares(&self, slots: usize) -> (HashMap<UserId, u32>, u32) {
        let counts = self.counts.lock();
        let mut users = counts.users.clone();
        if slots == 1
            && let Some(last) = &counts.last
        {
            users.insert(last.clone(), 1);
        }
        (users, u32::try_from(slots / 2).unwrap_or(u32::MAX).max(1))
    }
}

/// How many of so many slots one user may have, without those of a claim in flight: one is left for users who have none, so
/// that long runs of one user never make all others wait. With one or two slots no slot can be spared, and there is no limit.
pub(crate) fn most_of_one_user(slots: usize, in_flight: u32) -> u32 {
    match u32::try_from(slots) {
        Ok(slots) if slots > 2 => (slots - 1).saturating_sub(in_flight),
        _ => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_slots_reserve_one_of_three_for_other_users() {
        assert_eq!([1, 2, 3, 4].map(|slots| most_of_one_user(slots, 0)), [u32::MAX, u32::MAX, 2, 3]);
        assert_eq!((most_of_one_user(4, 2), most_of_one_user(4, 4)), (1, 0));
    }

    #[test]
    fn run_slots_give_one_user_half_and_rotate_a_single_slot() {
        let running = Running::default();
        let (ann, bob) = (UserId::new("ann"), UserId::new("bob"));
        running.add(&ann);
        running.add(&ann);
        running.add(&bob);
        assert_eq!(running.shares(4), (HashMap::from([(ann.clone(), 2), (bob.clone(), 1)]), 2));
        running.remove(&ann);
        running.remove(&ann);
        running.remove(&bob);
        assert_eq!(running.shares(4), (HashMap::new(), 2));
        assert_eq!(running.shares(1), (HashMap::from([(bob, 1)]), 1), "bob was last");
    }
}
