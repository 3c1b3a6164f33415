//! The live sessions of one process: how many there are, whose, and which conversation each of them fills.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use records::{ConversationId, UserId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// What a request, or another session, asks of a session of the same process.
#[derive(Debug)]
pub(crate) enum Command {
    /// Everything that was said is to be stored; the sender is answered, or dropped.
    Flush(oneshot::Sender<()>),
    /// This conversation was admitted.
    Admitted(ConversationId),
    /// Another session has taken this conversation over.
    Superseded(ConversationId),
}

/// The live sessions of one process. Cheap to clone; [`run`](Self::run) must be running while they are used.
#[derive(Clone, Default)]
pub struct Live(Arc<Inner>);

#[derive(Default)]
struct Inner {
    stop: CancellationToken,
    tracker: TaskTracker,
    seats: Mutex<Seats>,
    numbers: AtomicU64,
}

#[derive(Default)]
struct Seats {
    taken: usize,
    /// Of these, the places of sockets whose user is not known yet.
    unknown: usize,
    of_user: HashMap<UserId, UsersSessions>,
    owners: HashMap<(UserId, ConversationId), Owner>,
}

#[derive(Default)]
struct UsersSessions {
    open: usize,
    /// Their client has left.
    lingering: usize,
}

struct Owner {
    session: u64,
    commands: mpsc::Sender<Command>,
}

/// The place of one session; given back when dropped. A stopping process waits for it.
pub(crate) struct Seat {
    live: Live,
    session: u64,
    user: Option<UserId>,
    /// Its user is not known yet.
    is_unknown: bool,
    is_lingering: bool,
    owned: Option<ConversationId>,
    _awaited: TaskTrackerToken,
}

impl Live {
    /// `soft`: no more sessions; those that are there finish what was said, tell their clients to connect again, and end.
    /// Returns when all have ended, or at once when `hard` is cancelled.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        let ended = async {
            soft.cancelled().await;
            self.0.stop.cancel();
            self.0.tracker.close();
            self.0.tracker.wait().await;
        };
        tokio::select! {
            () = ended => {}
            () = hard.cancelled() => self.0.stop.cancel(),
        }
    }

    /// A place for one more session; `None` when `most` are there, or the process is stopping.
    pub(crate) fn enter(&self, most: usize) -> Option<Seat> {
        self.take(most, false)
    }

    /// The same for a socket whose user is not known before its first message: of such, a quarter of `most` at a time, so that
    /// those who have no key keep no more places from those who have one.
    pub(crate) fn enter_unknown(&self, most: usize) -> Option<Seat> {
        self.take(most, true)
    }

    fn take(&self, most: usize, is_unknown: bool) -> Option<Seat> {
        if self.0.stop.is_cancelled() {
            return None;
        }
        let mut seats = self.0.seats.lock();
        if seats.taken >= most || (is_unknown && seats.unknown >= most.div_ceil(4)) {
            return None;
        }
        seats.taken += 1;
        seats.unknown += usize::from(is_unknown);
        Some(Seat {
            live: self.clone(),
            session: self.0.numbers.fetch_add(1, Ordering::Relaxed),
            user: None,
            is_unknown,
            is_lingering: false,
            owned: None,
            _awaited: self.0.tracker.token(),
        })
    }

    /// The sessions of this process that fill conversations of `user`.
    pub(crate) fn sessions_of(&self, user: &UserId) -> Vec<mpsc::Sender<Command>> {
        let seats = self.0.seats.lock();
        let theirs = seats.owners.iter().filter(|((owner, _), _)| owner == user);
        theirs.map(|(_, owner)| owner.commands.clone()).collect()
    }

    /// A request has admitted a conversation: the session of this process that fills it tells its client, and goes on with another
    /// one.
    pub(crate) fn admitted(&self, user: &UserId, id: &ConversationId) {
        if let Some(owner) = self.0.seats.lock().owners.get(&(user.clone(), id.clone())) {
            let _ = owner.commands.try_send(Command::Admitted(id.clone()));
        }
    }
}

impl Seat {
    /// Makes it a session of `user`; `false` when the user has `most` already.
    pub(crate) fn sit(&mut self, user: &UserId, most: usize) -> bool {
        let mut seats = self.live.0.seats.lock();
        let of_user = seats.of_user.entry(user.clone()).or_default();
        if of_user.open >= most {
            return false;
        }
        of_user.open += 1;
        seats.unknown -= usize::from(std::mem::take(&mut self.is_unknown));
        self.user = Some(user.clone());
        true
    }

    /// Its client has left, and what was said is still recognized and stored: it keeps no other session of its user out, unless
    /// `most` of them do so already.
    pub(crate) fn linger(&mut self, most: usize) {
        let mut seats = self.live.0.seats.lock();
        if let Some(user) = &self.user
            && let Some(of_user) = seats.of_user.get_mut(user)
            && !self.is_lingering
            && of_user.lingering < most
        {
            of_user.open = of_user.open.saturating_sub(1);
            of_user.lingering += 1;
            self.is_lingering = true;
        }
    }

    /// Cancelled when the process stops.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.live.0.stop.clone()
    }

    /// From now on the session fills this conversation, and takes commands for it. A session of this process that filled it before
    /// is closed: its network may have failed, and it would keep one of the user's places.
    pub(crate) fn own(&mut self, id: &ConversationId, commands: &mpsc::Sender<Command>) {
        self.disown();
        if let Some(user) = &self.user {
            let owner = Owner { session: self.session, commands: commands.clone() };
            let before = self.live.0.seats.lock().owners.insert((user.clone(), id.clone()), owner);
            self.owned = Some(id.clone());
            if let Some(before) = before {
                let _ = before.commands.try_send(Command::Superseded(id.clone()));
            }
        }
    }

    /// The session fills none any more. Where another session of this process took it over, that one stays.
    pub(crate) fn disown(&mut self) {
        if let (Some(user), Some(id)) = (&self.user, self.owned.take()) {
            let mut seats = self.live.0.seats.lock();
            let about = (user.clone(), id);
            if seats.owners.get(&about).is_some_and(|owner| owner.session == self.session) {
                seats.owners.remove(&about);
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.disown();
        let mut seats = self.live.0.seats.lock();
        seats.taken = seats.taken.saturating_sub(1);
        seats.unknown -= usize::from(self.is_unknown);
        if let Some(user) = self.user.take()
            && let Some(of_user) = seats.of_user.get_mut(&user)
        {
            let its = if self.is_lingering { &mut of_user.lingering } else { &mut of_user.open };
            *its = its.saturating_sub(1);
            if of_user.open + of_user.lingering == 0 {
                seats.of_user.remove(&user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn live_sessions_are_limited_globally_and_per_user() {
        let live = Live::default();
        let (ann, bob) = (UserId::new("ann"), UserId::new("bob"));
        let mut seats: Vec<Seat> = (0..3).map(|_| live.enter(3).unwrap()).collect();
        assert!(live.enter(3).is_none());
        assert!(seats[0].sit(&ann, 1) && seats[1].sit(&bob, 1));
        assert!(!seats[2].sit(&ann, 1));
        seats.clear();
        assert!(live.enter(3).unwrap().sit(&ann, 1));
    }

    #[test]
    fn sessions_whose_client_left_keep_a_few_places_of_their_user() {
        let (live, ann) = (Live::default(), UserId::new("ann"));
        let mut seats: Vec<Seat> = (0..5).map(|_| live.enter(9).unwrap()).collect();
        assert!(seats[0].sit(&ann, 2) && seats[1].sit(&ann, 2) && !seats[2].sit(&ann, 2));
        (0..2).for_each(|_| seats[0].linger(2));
        assert!(seats[2].sit(&ann, 2) && !seats[3].sit(&ann, 2), "one has left, once");
        seats[1].linger(2);
        seats[2].linger(2);
        assert!(seats[3].sit(&ann, 2) && !seats[4].sit(&ann, 2), "a third that is left keeps its place");
        seats.clear();
        assert!(live.0.seats.lock().of_user.is_empty());
    }

    #[test]
    fn sockets_without_a_key_take_a_quarter_of_the_places() {
        let (live, ann) = (Live::default(), UserId::new("ann"));
        let mut unknown: Vec<Seat> = (0..2).map(|_| live.enter_unknown(8).unwrap()).collect();
        assert!(live.enter_unknown(8).is_none());
        assert!(live.enter(8).is_some(), "one with a key has a place");
        assert!(unknown[0].sit(&ann, 1));
        let third = live.enter_unknown(8).unwrap();
        assert!(live.enter_unknown(8).is_none());
        drop((unknown, third));
        assert!(live.enter_unknown(1).is_some(), "of one place, too");
    }

    #[test]
    fn conversation_taken_over_stays_with_the_newer_session() {
        let (live, ann, id) = (Live::default(), UserId::new("ann"), ConversationId::new("c"));
        let (mut old, mut young) = (live.enter(9).unwrap(), live.enter(9).unwrap());
        assert!(old.sit(&ann, 9) && young.sit(&ann, 9));
        let (commands, mut of_old) = mpsc::channel(1);
        old.own(&id, &commands);
        let (commands, _) = mpsc::channel(1);
        young.own(&id, &commands);
        assert!(matches!(of_old.try_recv(), Ok(Command::Superseded(taken)) if taken == id));
        drop(old);
        assert_eq!(live.sessions_of(&ann).len(), 1);
        drop(young);
        assert!(live.sessions_of(&ann).is_empty());
    }

    #[tokio::test]
    async fn shutdown_waits_for_live_sessions() {
        let (live, soft) = (Live::default(), CancellationToken::new());
        let seat = live.enter(9).unwrap();
        let stop = seat.stop();
        let mut running = tokio::spawn(live.clone().run(soft.clone(), CancellationToken::new()));
        soft.cancel();
        stop.cancelled().await;
        assert!(live.enter(9).is_none());
        let early = tokio::time::timeout(std::time::Duration::from_millis(20), &mut running).await;
        assert!(early.is_err());
        drop(seat);
        running.await.unwrap();
    }
}
