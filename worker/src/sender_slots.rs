//! The slots of the tries that are under way, fair to those who answer.
//!
//! A try holds one of few slots while it is young. One that waits longer for its receiver steps aside into a much
//! larger waiting room: silence costs no more than memory, and must not cost those who answer their turn. However
//! many endpoints are silent, a slot is theirs for [`YOUNG`] at a time. Of slots and waiting room together, a claim leaves as much
//! free as any one user holds ([`SenderLoad`]).

use std::{collections::HashMap, sync::Arc, time::Duration};

use outbox::SenderLoad;
use parking_lot::Mutex;
use records::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Young tries under way at once in this process; the ledger's claim bounds them per endpoint.
const SLOTS: usize = 16;
/// Tries that wait for a silent receiver: those of 60 endpoints, at the four that a claim allows each.
const WAITING_ROOM: usize = 240;
/// A receiver that lives has answered by then.
pub(crate) const YOUNG: Duration = Duration::from_millis(500);

/// The slots of one kind of dispatcher in one process.
#[derive(Clone)]
pub(crate) struct SenderSlots {
    young: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// (young tries, all tries) under way, by user.
    users: Arc<Mutex<HashMap<String, (usize, usize)>>>,
}

/// A try that is counted as its user's until it ends.
pub(crate) struct Counted {
    slots: SenderSlots,
    user: String,
    is_young: bool,
}

impl Counted {
    fn grow_old(&mut self) {
        self.is_young = false;
        self.change(|(young, all)| (young.saturating_sub(1), all));
    }

    fn change(&self, change: impl Fn((usize, usize)) -> (usize, usize)) {
        let mut users = self.slots.users.lock();
        let counts = users.entry(self.user.clone()).or_default();
        *counts = change(*counts);
        if counts.1 == 0 {
            users.remove(&self.user);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let young = usize::from(self.is_young);
        self.change(|counts| (counts.0.saturating_sub(young), counts.1.saturating_sub(1)));
    }
}

impl SenderSlots {
    pub(crate) fn new() -> Self {
        Self {
            young: Arc::new(Semaphore::new(SLOTS)),
            waiting: Arc::new(Semaphore::new(WAITING_ROOM)),
            users: Arc::default(),
        }
    }

    /// Counts a try of `user`'s, from its claim on.
    pub(crate) fn count(&self, user: &UserId) -> Counted {
        let counted = Counted { slots: self.clone(), user: user.as_str().to_owned(), is_young: true };
        counted.change(|(young, all)| (young + 1, all + 1));
        counted
    }

    /// What is under way, and what is free while the caller holds `free`.
    pub(crate) fn load(&self, free: &OwnedSemaphorePermit) -> SenderLoad {
        let users = self.users.lock().clone();
        let under_way: usize = users.values().map(|(_, all)| all).sum();
        let free_in_all = (SLOTS + WAITING_ROOM).saturating_sub(under_way);
        SenderLoad { free: free.num_permits(), free_in_all, users }
    }

    /// Waits for one free slot and gathers all that are free by then.
    pub(crate) async fn free(&self) -> Option<OwnedSemaphorePermit> {
        let mut free = Arc::clone(&self.young).acquire_owned().await.ok()?;
        let more = u32::try_from(self.young.available_permits()).unwrap_or(0);
        if let Ok(more) = Arc::clone(&self.young).try_acquire_many_owned(more) {
            free.merge(more);
        }
        Some(free)
    }

    /// Lets a counted try run in `slot`, which is free again when the try has ended or has grown old. While the waiting
    /// room is full, an old try keeps its slot: what is under way stays bounded.
    pub(crate) async fn hold<T>(
        &self,
        mut counted: Counted,
        slot: Option<OwnedSemaphorePermit>,
        try_out: impl Future<Output = T>,
    ) -> T {
        let mut try_out = std::pin::pin!(try_out);
        if let Ok(done) = tokio::time::timeout(YOUNG, &mut try_out).await {
            return done;
        }
        let _room = match Arc::clone(&self.waiting).try_acquire_owned() {
            Ok(room) => {
                counted.grow_old();
                drop(slot);
                room
            }
            Err(_) => return try_out.await,
        };
        try_out.await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must fail")]

    use std::future::pending;

    use super::*;

    fn ann() -> UserId {
        UserId::new("ann")
    }

    #[tokio::test(start_paused = true)]
    async fn sender_slots_count_a_try_for_its_user_until_it_ends() {
        let slots = SenderSlots::new();
        let mut free = slots.free().await.unwrap();
        let held = tokio::spawn({
            let (slots, slot) = (slots.clone(), free.split(1));
            async move { slots.hold(slots.count(&ann()), slot, tokio::time::sleep(YOUNG * 4)).await }
        });
        tokio::time::sleep(YOUNG / 2).await;
        let load = slots.load(&free);
        assert_eq!((load.free, load.free_in_all), (SLOTS - 1, SLOTS + WAITING_ROOM - 1));
        assert_eq!(load.users, HashMap::from([("ann".to_owned(), (1, 1))]));
        tokio::time::sleep(YOUNG).await;
        assert_eq!(slots.load(&free).users, HashMap::from([("ann".to_owned(), (0, 1))]));
        held.await.unwrap();
        assert_eq!(slots.load(&free).users, HashMap::new());
        let panicked = tokio::spawn({
            let (slots, slot) = (slots.clone(), free.split(1));
            async move { slots.hold(slots.count(&ann()), slot, async { panic!("a try was told to panic") }).await }
        });
        assert!(panicked.await.is_err());
        assert_eq!(slots.load(&free).users, HashMap::new());
    }

    #[tokio::test(start_paused = true)]
    async fn sender_slots_are_released_by_old_silent_tries_and_at_the_end() {
        let slots = SenderSlots::new();
        let mut all = slots.free().await.unwrap();
        assert_eq!(all.num_permits(), SLOTS);
        for _ in 0..SLOTS {
            let (slots, slot) = (slots.clone(), all.split(1));
            tokio::spawn(async move { slots.hold(slots.count(&ann()), slot, pending::<()>()).await });
        }
        drop(all);
        let began = tokio::time::Instant::now();
        let mut free = slots.free().await.unwrap();
        assert_eq!(began.elapsed(), YOUNG, "all were taken by the silent");
        let slot = free.split(1);
        drop(free);
        assert_eq!(slots.hold(slots.count(&ann()), slot, async { 7 }).await, 7);
        assert_eq!(slots.young.available_permits(), SLOTS);
    }

    #[tokio::test(start_paused = true)]
    async fn sender_slots_stay_held_while_the_waiting_room_is_full() {
        let slots = SenderSlots::new();
        let room = Arc::clone(&slots.waiting).acquire_many_owned(WAITING_ROOM as u32).await.unwrap();
        let mut all = slots.free().await.unwrap();
        let slot = all.split(1);
        let held = tokio::spawn({
            let slots = slots.clone();
            async move { slots.hold(slots.count(&ann()), slot, tokio::time::sleep(YOUNG * 4)).await }
        });
        drop(all);
        tokio::time::sleep(YOUNG * 2).await;
        assert_eq!(slots.young.available_permits(), SLOTS - 1);
        held.await.unwrap();
        assert_eq!(slots.young.available_permits(), SLOTS);
        drop(room);
    }
}
