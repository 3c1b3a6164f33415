//! A few sessions for what is asked for most. The pool asks every session that comes back whether it lives, in a task of its
//! own: a round trip more for every verb. One that has just answered whole stays here instead, for whoever asks next.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use sqlx::{Connection, PgConnection, PgPool, Postgres, Transaction, pool::PoolConnection};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{
    connect::BEGIN,
    deadline::{BELIEVED, Doubts},
    error::{Doing, Error},
};

/// How long a session of the few is waited for, while there are others.
const PASSING_BY: Duration = Duration::from_millis(500);

/// How long one is kept at most, as the driver's pool keeps its own: what the server remembers of it ends with it.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// A pool's sessions, of which nobody else takes any. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Few(Arc<Inner>);

struct Inner {
    pool: PgPool,
    /// As many as the pool has sessions: whoever has one finds a session here or gets one of the pool's.
    turns: Arc<Semaphore>,
    kept: Mutex<Vec<Kept>>,
    doubts: Doubts,
}

/// A session, since when it is not the pool's, and when it last answered.
struct Kept {
    session: PoolConnection<Postgres>,
    taken: Instant,
    answered: Instant,
}

/// A session for one verb: given back with [`keep`](Self::keep), or left to the pool, which asks it whether it lives.
pub(crate) struct Session {
    session: PoolConnection<Postgres>,
    /// `None`: it is one of the others.
    of: Option<(Few, OwnedSemaphorePermit, Instant)>,
}

impl Session {
    /// Begins a verb whose first statement reads the clock itself. The few are told once and for all how long anybody waits
    /// and how few rows a verb touches; the others are told each time.
    pub(crate) async fn begin(&mut self, doing: &'static str) -> Result<Transaction<'_, Postgres>, Error> {
        let verb = if self.of.is_some() { "begin" } else { BEGIN };
        self.session.begin_with(verb).await.doing(doing)
    }

    /// It has answered whole, and lives. One that still has to send a rollback goes back to the pool, which sends it.
    pub(crate) fn keep(self) {
        if !self.session.should_flush()
            && let Some((few, _turn, taken)) = self.of
        {
            few.keep(Kept { session: self.session, taken, answered: Instant::now() });
        }
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.session
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.session
    }
}

impl Few {
    /// The sessions of `pool`, which has `size`.
    pub(crate) fn of(pool: PgPool, size: u32, doubts: &Doubts) -> Self {
        let turns = Arc::new(Semaphore::new(size as usize));
        Self(Arc::new(Inner { pool, turns, kept: Mutex::default(), doubts: doubts.clone() }))
    }

    /// One of the few; one of `others` when those are all busy.
    pub(crate) async fn session(&self, others: &PgPool, doing: &'static str) -> Result<Session, Error> {
        match tokio::time::timeout(PASSING_BY, self.own()).await {
            Ok(Ok(session)) => Ok(session),
            _ => Ok(Session { session: others.acquire().await.doing(doing)?, of: None }),
        }
    }

    async fn own(&self) -> Result<Session, sqlx::Error> {
        let turn = Arc::clone(&self.0.turns).acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let (session, taken) = match self.kept().await {
            Some(living) => living,
            None => (self.0.pool.acquire().await?, Instant::now()),
        };
        Ok(Session { session, of: Some((self.clone(), turn, taken)) })
    }

    /// The one that answered last of those that live.
    async fn kept(&self) -> Option<(PoolConnection<Postgres>, Instant)> {
        loop {
            let Kept { session, taken, answered } = self.lock().pop()?;
            let is_outdated = self.0.doubts.is_outdated(taken.elapsed());
            if !is_outdated && answered.elapsed() < BELIEVED && !self.0.doubts.are_raised() {
                return Some((session, taken));
            }
            let mut suspect = Suspect(Some(session));
            if let Some(session) = &mut suspect.0
                && !is_outdated
                && matches!(self.0.doubts.ask(session).await, Ok(true))
            {
                return suspect.0.take().map(|session| (session, taken));
            }
        }
    }

    fn keep(&self, kept: Kept) {
        let mut all = self.lock();
        // Seen under the lock: whoever closes empties what is kept after it has said so.
        if !self.0.pool.is_closed() && kept.taken.elapsed() < LIFETIME {
            all.push(kept);
        }
    }

    /// Closes the pool; statements in flight finish first.
    pub(crate) async fn close(&self) {
        let closed = self.0.pool.close();
        self.lock().clear();
        closed.await;
    }

    /// Nothing is awaited while this is held.
    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is asked whether it lives. One that does not say so, or is not waited for, is closed: the pool would ask it
/// once more, and wait for ever.
struct Suspect(Option<PoolConnection<Postgres>>);

impl Drop for Suspect {
    fn drop(&mut self) {
        if let Some(session) = &mut self.0 {
            session.close_on_drop();
        }
    }
}

impl Drop for Inner {
    /// A session goes back to its pool in a task: where there is no runtime any more, it just ends.
    fn drop(&mut self) {
        if Handle::try_current().is_err() {
            let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
            kept.drain(..).for_each(|kept| drop(kept.session.leak()));
        }
    }
}
