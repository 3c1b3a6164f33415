//! A few sessions for what is one statement and asked for often. The pool asks every session that comes back whether it
//! lives, in a task of its own: a second round trip for every statement. One that has just answered whole stays here
//! instead, for whoever asks next.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use sqlx::{PgConnection, PgPool, Postgres, pool::PoolConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    deadline::{BELIEVED, Doubts},
    error::{Doing, Error},
};

/// How long a session of the few is waited for, while there are others.
const PASSING_BY: Duration = Duration::from_millis(500);

/// A pool's sessions, of which nobody else takes any. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Few(Arc<Kept>);

struct Kept {
    pool: PgPool,
    /// As many as the pool has sessions: whoever has one finds a session here or gets one of the pool's.
    turns: Arc<Semaphore>,
    sessions: Mutex<Vec<(PoolConnection<Postgres>, Instant)>>,
    doubts: Doubts,
}

/// A session for one statement: given back with [`keep`](Self::keep), or left to the pool, which asks it whether it lives.
pub(crate) struct Session {
    session: PoolConnection<Postgres>,
    /// `None`: it is one of the others.
    of: Option<(Few, OwnedSemaphorePermit)>,
}

impl Session {
    /// It has answered whole, and lives.
    pub(crate) fn keep(self) {
        if let Some((few, _turn)) = self.of {
            few.keep(self.session);
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
        Self(Arc::new(Kept { pool, turns, sessions: Mutex::default(), doubts: doubts.clone() }))
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
        let session = match self.kept() {
            Some(session) => session,
            None => self.0.pool.acquire().await?,
        };
        Ok(Session { session, of: Some((self.clone(), turn)) })
    }

    /// The one that answered last, if it is believed to live. Else nobody believes those below it, which answered earlier:
    /// all go back to the pool.
    fn kept(&self) -> Option<PoolConnection<Postgres>> {
        let mut kept = self.sessions();
        let (session, since) = kept.pop()?;
        if since.elapsed() < BELIEVED && !self.0.doubts.are_raised() {
            return Some(session);
        }
        kept.clear();
        None
    }

    fn keep(&self, session: PoolConnection<Postgres>) {
        let mut kept = self.sessions();
        // Seen under the lock: whoever closes empties what is kept after it has said so.
        if !self.0.pool.is_closed() {
            kept.push((session, Instant::now()));
        }
    }

    /// Closes the pool; statements in flight finish first.
    pub(crate) async fn close(&self) {
        let closed = self.0.pool.close();
        self.sessions().clear();
        closed.await;
    }

    /// Nothing is awaited while this is held.
    fn sessions(&self) -> MutexGuard<'_, Vec<(PoolConnection<Postgres>, Instant)>> {
        self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
