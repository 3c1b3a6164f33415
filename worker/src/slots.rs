//! The slots of the tries that are under way, fair to those who answer.
//!
//! A try holds one of few slots while it is young. One that waits longer for its receiver steps aside into a much
//! larger waiting room: silence costs no more than memory, and must not cost those who answer their turn. However
//! many endpoints are silent, a slot is theirs for [`YOUNG`] at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Young tries under way at once in this process; the ledger's claim bounds them per endpoint.
const SLOTS: usize = 16;
/// Tries that wait for a silent receiver: those of 60 endpoints, at the four that a claim allows each.
const WAITING_ROOM: usize = 240;
/// A receiver that lives has answered by then.
pub(crate) const YOUNG: Duration = Duration::from_millis(500);

/// The slots of one kind of errand in one process.
#[derive(Clone)]
pub(crate) struct Slots {
    young: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self { young: Arc::new(Semaphore::new(SLOTS)), waiting: Arc::new(Semaphore::new(WAITING_ROOM)) }
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

    /// Lets `try_out` run in `slot`, which is free again when the try has ended or has grown old. While the waiting
    /// room is full, an old try keeps its slot: what is under way stays bounded.
    pub(crate) async fn hold<T>(
        &self,
        slot: Option<OwnedSemaphorePermit>,
        try_out: impl Future<Output = T>,
    ) -> T {
        let mut try_out = std::pin::pin!(try_out);
        if let Ok(done) = tokio::time::timeout(YOUNG, &mut try_out).await {
            return done;
        }
        let _room = match Arc::clone(&self.waiting).try_acquire_owned() {
            Ok(room) => {
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
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_gives_its_slots_back_and_an_end_does_so_at_once() {
        let slots = Slots::new();
        let mut all = slots.free().await.unwrap();
        assert_eq!(all.num_permits(), SLOTS);
        for _ in 0..SLOTS {
            let (slots, slot) = (slots.clone(), all.split(1));
            tokio::spawn(async move { slots.hold(slot, pending::<()>()).await });
        }
        drop(all);
        let began = tokio::time::Instant::now();
        let mut free = slots.free().await.unwrap();
        assert_eq!(began.elapsed(), YOUNG, "all were taken by the silent");
        let slot = free.split(1);
        drop(free);
        assert_eq!(slots.hold(slot, async { 7 }).await, 7);
        assert_eq!(slots.young.available_permits(), SLOTS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_waiting_room_keeps_the_old_in_their_slots() {
        let slots = Slots::new();
        let room = Arc::clone(&slots.waiting).acquire_many_owned(WAITING_ROOM as u32).await.unwrap();
        let mut all = slots.free().await.unwrap();
        let slot = all.split(1);
        let held = tokio::spawn({
            let slots = slots.clone();
            async move { slots.hold(slot, tokio::time::sleep(YOUNG * 4)).await }
        });
        drop(all);
        tokio::time::sleep(YOUNG * 2).await;
        assert_eq!(slots.young.available_permits(), SLOTS - 1);
        held.await.unwrap();
        assert_eq!(slots.young.available_permits(), SLOTS);
        drop(room);
    }
}
