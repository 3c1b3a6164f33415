//! The slots of the tries that are under way, fair to those who answer.
//!
//! A try holds one of few slots while it is young. One that waits longer for its receiver steps aside into a much
//! larger waiting room: silence costs memory, a bounded part of it, and must not cost those who answer their turn. However
//! many endpoints are silent, a slot is theirs for [`YOUNG`] at a time: where the room is full, one that waits is ended. A host at
//! which many wait already (the server of an app that many users have) gets no slot for longer than it takes to ask it. Of slots
//! and waiting room together, a claim leaves as much free as any one user holds ([`SenderLoad`]), and where many users want slots they
//! take turns.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use outbox::SenderLoad;
use outside::{Answer, Failure, Url};
use parking_lot::Mutex;
use records::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Young tries under way at once in this process; the ledger's claim bounds them per endpoint.
const SLOTS: usize = 16;
/// Tries that wait for a silent receiver: those of 60 endpoints, at the four that a claim allows each.
const WAITING_ROOM: usize = 240;
/// Bytes that they keep for their receivers, together: a long transcript is megabytes.
const WAITING_BYTES: usize = 128 * 1024 * 1024;
/// A receiver that lives has answered by then.
pub(crate) const YOUNG: Duration = Duration::from_millis(500);

/// So many tries that wait for one host say that it does not answer: the next ones wait for it without a slot.
const SILENT: usize = 32;

/// How many users are remembered to have had their turn; then the next one begins.
const TURNS_KEPT: usize = 1_000;

/// The slots of one kind of dispatcher in one process.
#[derive(Clone)]
pub(crate) struct SenderSlots {
    young: Arc<Semaphore>,
    waiting: Arc<Mutex<WaitingRoom>>,
    /// (young tries, all tries) under way, by user.
    users: Arc<Mutex<HashMap<String, (usize, usize)>>>,
    /// Users who had their turn.
    had_turn: Arc<Mutex<HashSet<String>>>,
}

/// The tries that wait for a silent receiver, in the order in which they came.
#[derive(Default)]
struct WaitingRoom {
    next: u64,
    tries: BTreeMap<u64, (Whose, ReceiverWait)>,
}

/// Whose a try is, and the host that it asks.
#[derive(Clone)]
struct Whose {
    user: String,
    host: String,
}

impl WaitingRoom {
    /// What is kept here; each try takes at least an equal part of the room.
    fn bytes(&self) -> usize {
        self.tries.values().map(|(_, wait)| wait.part()).sum()
    }

    fn is_silent(&self, host: &str) -> bool {
        self.tries.values().filter(|(whose, _)| whose.host == host).count() >= SILENT
    }

    /// Ends what has waited longest of the user or the host with most in here; of a host's, one of the user with most.
    fn make_room(&mut self) {
        let (mut users, mut hosts) = (HashMap::<&str, usize>::new(), HashMap::<&str, usize>::new());
        for (Whose { user, host }, wait) in self.tries.values() {
            *users.entry(user).or_default() += wait.part();
            *hosts.entry(host).or_default() += wait.part();
        }
        let kept = |(_, (whose, _)): &(&u64, &(Whose, ReceiverWait))| {
            let (of_user, of_host) = (users.get(&*whose.user), hosts.get(&*whose.host));
            (of_user.max(of_host), of_user)
        };
        let ended = self.tries.iter().rev().max_by_key(kept).map(|(number, _)| *number);
        if let Some((_, wait)) = ended.and_then(|number| self.tries.remove(&number)) {
            wait.ended.cancel();
        }
    }
}

/// A try's place in the waiting room, until it is dropped.
struct Place {
    number: u64,
    room: Arc<Mutex<WaitingRoom>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().tries.remove(&self.number);
    }
}

/// How long a try waits for its receiver: until its place is another's.
#[derive(Clone, Default)]
pub(crate) struct ReceiverWait {
    ended: CancellationToken,
    /// What the try keeps for its receiver.
    bytes: Arc<AtomicUsize>,
}

impl ReceiverWait {
    /// The try keeps so many bytes until it ends.
    pub(crate) fn keeps(&self, bytes: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn part(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).max(WAITING_BYTES / WAITING_ROOM)
    }

    /// The answer, or that it took too long. A receiver that has not been asked yet is asked, and waited for.
    pub(crate) async fn or_timeout(&self, answer: impl Future<Output = Answer>) -> Answer {
        if self.ended.is_cancelled() {
            return answer.await;
        }
        self.ended.run_until_cancelled(answer).await.unwrap_or(Answer::Failed(Failure::Timeout))
    }
}

/// A try that is counted as its user's until it ends.
pub(crate) struct Counted {
    slots: SenderSlots,
    whose: Whose,
    is_young: bool,
}

impl Counted {
    fn grow_old(&mut self) {
        self.is_young = false;
        self.change(|(young, all)| (young.saturating_sub(1), all));
    }

    fn change(&self, change: impl Fn((usize, usize)) -> (usize, usize)) {
        let mut users = self.slots.users.lock();
        let counts = users.entry(self.whose.user.clone()).or_default();
        *counts = change(*counts);
        if counts.1 == 0 {
            users.remove(&self.whose.user);
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
            waiting: Arc::default(),
            users: Arc::default(),
            had_turn: Arc::default(),
        }
    }

    /// Counts a try of `user`'s that asks `url`, from its claim on.
    pub(crate) fn count(&self, user: &UserId, url: &str) -> Counted {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let whose = Whose { user: user.as_str().to_owned(), host };
        let counted = Counted { slots: self.clone(), whose, is_young: true };
        counted.change(|(young, all)| (young + 1, all + 1));
        counted
    }

    /// What is under way, and what is free while the caller holds `free`. Turns count while there are no more free slots than
    /// users: before, everybody comes to a share.
    pub(crate) fn load(&self, free: &OwnedSemaphorePermit) -> SenderLoad {
        let (users, free) = (self.users.lock().clone(), free.num_permits());
        let under_way: usize = users.values().map(|(_, all)| all).sum();
        let free_in_all = (SLOTS + WAITING_ROOM).saturating_sub(under_way);
        let had_turn = if free > users.len() { HashSet::new() } else { self.had_turn.lock().clone() };
        SenderLoad { free, free_in_all, users, had_turn }
    }

    /// Notes that a claim gave rows to `users`. One who had a turn already gets another only where no other user waits: the next
    /// turn begins.
    pub(crate) fn note_turns<'a>(&self, users: impl Iterator<Item = &'a UserId> + Clone) {
        let mut had_turn = self.had_turn.lock();
        if had_turn.len() >= TURNS_KEPT || users.clone().any(|user| had_turn.contains(user.as_str())) {
            had_turn.clear();
        }
        had_turn.extend(users.map(|user| user.as_str().to_owned()));
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
    /// room is full, an old try takes the place of another, whose wait ends: what is under way stays bounded, and
    /// receivers that answer do not wait for those that do not. A try that asks a silent host counts as old at once.
    pub(crate) async fn hold<T>(
        &self,
        mut counted: Counted,
        slot: Option<OwnedSemaphorePermit>,
        wait: &ReceiverWait,
        try_out: impl Future<Output = T>,
    ) -> T {
        let mut try_out = std::pin::pin!(try_out);
        let is_silent = self.waiting.lock().is_silent(&counted.whose.host);
        let young = if is_silent { Duration::ZERO } else { YOUNG };
        if let Ok(done) = tokio::time::timeout(young, &mut try_out).await {
            return done;
        }
        let _place = self.enter_waiting_room(counted.whose.clone(), wait);
        counted.grow_old();
        drop(slot);
        try_out.await
    }

    fn enter_waiting_room(&self, whose: Whose, wait: &ReceiverWait) -> Place {
        let mut room = self.waiting.lock();
        while room.bytes() + wait.part() > WAITING_BYTES && !room.tries.is_empty() {
            room.make_room();
        }
        let number = room.next;
        room.next += 1;
        room.tries.insert(number, (whose, wait.clone()));
        Place { number, room: Arc::clone(&self.waiting) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must fail")]

    use std::future::pending;

    use super::*;

    const HOOK: &str = "https://hooks.example/a";

    fn ann() -> UserId {
        UserId::new("ann")
    }

    #[tokio::test(start_paused = true)]
    async fn sender_slots_count_a_try_for_its_user_until_it_ends() {
        let slots = SenderSlots::new();
        let mut free = slots.free().await.unwrap();
        let held = tokio::spawn({
            let (slots, slot) = (slots.clone(), free.split(1));
            async move {
                slots
                    .hold(
                        slots.count(&ann(), HOOK),
                        slot,
                        &ReceiverWait::default(),
                        tokio::time::sleep(YOUNG * 4),
                    )
                    .await
            }
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
            async move {
                let panics = async { panic!("a try panics, as it should") };
                slots.hold(slots.count(&ann(), HOOK), slot, &ReceiverWait::default(), panics).await
            }
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
            tokio::spawn(async move {
                slots.hold(slots.count(&ann(), HOOK), slot, &ReceiverWait::default(), pending::<()>()).await
            });
        }
        drop(all);
        let began = tokio::time::Instant::now();
        let mut free = slots.free().await.unwrap();
        assert_eq!(began.elapsed(), YOUNG, "all were taken by the silent");
        let slot = free.split(1);
        drop(free);
        assert_eq!(
            slots.hold(slots.count(&ann(), HOOK), slot, &ReceiverWait::default(), async { 7 }).await,
            7
        );
        assert_eq!(slots.young.available_permits(), SLOTS);
    }

    #[tokio::test(start_paused = true)]
    async fn sender_slots_remember_turns_while_they_are_scarce_until_all_have_had_one() {
        let slots = SenderSlots::new();
        let [ann, bob] = ["ann", "bob"].map(UserId::new);
        let had_turn = |slots: &SenderSlots, free: &OwnedSemaphorePermit| {
            let mut users = slots.load(free).had_turn.into_iter().collect::<Vec<_>>();
            users.sort_unstable();
            users
        };
        let mut free = slots.free().await.unwrap();
        slots.note_turns([&ann, &ann].into_iter());
        assert_eq!(had_turn(&slots, &free), [] as [&str; 0], "all slots are free");
        let (_counted, _held) = (slots.count(&ann, HOOK), free.split(SLOTS - 1));
        assert_eq!(had_turn(&slots, &free), ["ann"]);
        slots.note_turns(std::iter::once(&bob));
        assert_eq!(had_turn(&slots, &free), ["ann", "bob"]);
        slots.note_turns(std::iter::once(&bob));
        assert_eq!(had_turn(&slots, &free), ["bob"], "bob had another: nobody waited for the first");
        let many: Vec<UserId> = (0..TURNS_KEPT).map(|n| UserId::new(n.to_string())).collect();
        slots.note_turns(many.iter());
        slots.note_turns(std::iter::once(&ann));
        assert_eq!(had_turn(&slots, &free), ["ann"], "what is remembered is bounded");
    }

    /// Lets tries of `users`, with so many bytes each, grow old, one after the other; each ends when its wait is ended.
    async fn grown_old(
        slots: &SenderSlots,
        bytes: usize,
        users: impl Iterator<Item = String>,
    ) -> Vec<tokio::task::JoinHandle<Answer>> {
        let mut tries = Vec::new();
        for user in users {
            let mut free = slots.free().await.unwrap();
            let (slots, slot, wait) = (slots.clone(), free.split(1), ReceiverWait::default());
            drop(free);
            wait.keeps(bytes);
            tries.push(tokio::spawn(async move {
                let counted =
                    slots.count(&UserId::new(&user), &format!("https://{}.example/", user.replace(' ', "-")));
                slots.hold(counted, slot, &wait, wait.or_timeout(pending())).await
            }));
        }
        tokio::time::sleep(YOUNG * 2).await;
        tries
    }

    #[tokio::test(start_paused = true)]
    async fn full_waiting_room_ends_the_oldest_try_of_the_user_with_most() {
        let slots = SenderSlots::new();
        let users = (0..WAITING_ROOM).map(|n| match n {
            0 => "patient".to_owned(),
            1 | 2 => "greedy".to_owned(),
            n => format!("user {n}"),
        });
        let mut tries = grown_old(&slots, 1_000, users).await;
        assert!(tries.iter().all(|one| !one.is_finished()), "there is room for all");
        let one_more = grown_old(&slots, 1_000, std::iter::once("next".to_owned())).await;
        let ended: Vec<usize> = (0..WAITING_ROOM).filter(|n| tries[*n].is_finished()).collect();
        assert_eq!(ended, [1], "the older one of two, not the oldest of all");
        assert_eq!(tries.remove(1).await.unwrap(), Answer::Failed(Failure::Timeout));
        assert_eq!(slots.young.available_permits(), SLOTS, "who answers finds every slot free");
        assert_eq!(slots.waiting.lock().tries.len(), WAITING_ROOM);
        let _others = grown_old(&slots, 1_000, std::iter::once("another".to_owned())).await;
        assert!(tries[0].is_finished(), "the oldest, where each has one");
        assert!(!one_more[0].is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn long_transcripts_for_silent_receivers_take_a_bounded_part_of_memory() {
        let (slots, part) = (SenderSlots::new(), WAITING_BYTES / 8);
        let large = grown_old(&slots, part, (0..20).map(|n| format!("user {}", n % 2))).await;
        let small = grown_old(&slots, 1_000, std::iter::once("quiet".to_owned())).await;
        let waiting: Vec<usize> = (0..large.len()).filter(|n| !large[*n].is_finished()).collect();
        assert_eq!(waiting, (13..20).collect::<Vec<_>>(), "the oldest were ended, of each user as many");
        assert!(!small[0].is_finished(), "who keeps little is not who makes room");
        assert!(slots.waiting.lock().bytes() <= WAITING_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn ended_wait_still_sends_a_try_that_was_not_sent() {
        let wait = ReceiverWait::default();
        wait.ended.cancel();
        let status = Answer::Status { code: 204, retry_after: None };
        assert_eq!(wait.or_timeout(async { status }).await, status);
    }

    /// An app's server hangs, and its 5,000 users have a delivery each.
    #[tokio::test(start_paused = true)]
    async fn host_that_answers_none_of_many_users_holds_up_no_other() {
        let (slots, began) = (SenderSlots::new(), tokio::time::Instant::now());
        let slow = grown_old(&slots, 1_000, std::iter::once("slow".to_owned())).await;
        let mut of_app = Vec::new();
        for user in 0..5_000 {
            let mut free = slots.free().await.unwrap();
            let (slots, slot, wait) = (slots.clone(), free.split(1), ReceiverWait::default());
            of_app.push(tokio::spawn(async move {
                let counted = slots.count(&UserId::new(user.to_string()), HOOK);
                slots.hold(counted, slot, &wait, wait.or_timeout(pending())).await
            }));
        }
        let took = began.elapsed();
        assert!(took < YOUNG * 6, "who comes next waits for {took:?}");
        assert!(of_app[0].is_finished(), "those that wait for it make room for one another");
        assert!(!slow[0].is_finished(), "and another's receiver may still answer");
    }
}
