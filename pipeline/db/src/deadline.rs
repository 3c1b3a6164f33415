//! How long an answer of the database is waited for, and what becomes of the session that owes one.
//!
//! Every wait inside of the server is bounded (DESIGN §4), but a connection can die without a word: a firewall forgets it, a
//! failover takes the address away. TCP notices after a quarter of an hour, so the wait is bounded here too.

use std::{
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sqlx::{Connection, PgConnection};

use crate::{Db, error::Error, sql};

/// An operation is a handful of statements of milliseconds, and each waits for two seconds at most; longer than this, the database
/// is not there.
pub(crate) const ANSWER: Duration = Duration::from_secs(15);

/// A session that answered this short a while ago is believed to be alive; to ask it would be a round trip before every
/// statement. One that died since fails what it is used for, like one that dies a moment later.
const BELIEVED: Duration = Duration::from_secs(1);

/// How long a session may take to say that it lives. One that is still busy with an abandoned statement is closed: to wait for it would
/// keep its place in the pool taken.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How long sessions are kept at least though they reach a server that only reads: new ones reach no other.
const READERS: Duration = Duration::from_secs(3);

/// How many of the sessions that are handed on next are doubted: the one that was given up is among them.
const SUSPECTED: u32 = 64;

/// After so long without an answer to any operation, whatever was open is taken for dead. One that waits for less says nothing of the
/// other sessions: on a slow server they would all be opened anew, which makes it slower.
const SILENT: Duration = Duration::from_secs(5);

/// Sessions whose operation was given up. The pool would wait for them for ever before it hands them on.
#[derive(Clone, Default)]
pub(crate) struct SuspectConnections(Arc<Raised>);

#[derive(Default)]
struct Raised {
    /// How many of the sessions that are handed on next are doubted.
    asked: AtomicU32,
    /// When an operation was answered last.
    heard: Mutex<Option<Instant>>,
    /// When the server was taken for dead.
    dead: Mutex<Option<Instant>>,
    /// Since when the schema is another one than that by which older sessions planned.
    replanned: Mutex<Option<Instant>>,
}

impl SuspectConnections {
    fn raise(&self) {
        self.0.asked.store(SUSPECTED, Ordering::Release);
        if self.0.heard.lock().is_none_or(|at| at.elapsed() >= SILENT) {
            *self.0.dead.lock() = Some(Instant::now());
        }
    }

    /// An operation was answered.
    fn hear(&self) {
        *self.0.heard.lock() = Some(Instant::now());
    }

    /// Whether there are any.
    pub(crate) fn are_raised(&self) -> bool {
        self.0.asked.load(Ordering::Acquire) > 0
    }

    /// One less is doubted from now on.
    fn count_down(&self) {
        let less = |left: u32| left.checked_sub(1);
        let _ = self.0.asked.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// Whether a session of that age was open when the server was taken for dead.
    fn is_dead(&self, age: Duration) -> bool {
        self.0.dead.lock().is_some_and(|since| since.elapsed() <= age)
    }

    /// A migration has changed what a kept plan answers: the server refuses the plan on each session that has it, and the
    /// driver would say it again and again. All that is open is replaced.
    pub(crate) fn replan(&self) {
        *self.0.replanned.lock() = Some(Instant::now());
    }

    /// Whether all that was open was replaced so short a while ago.
    fn is_replanned_within(&self, wait: Duration) -> bool {
        self.0.replanned.lock().is_some_and(|since| since.elapsed() < wait)
    }

    /// Whether a session of that age may still have plans of an older schema.
    pub(crate) fn is_outdated(&self, age: Duration) -> bool {
        self.0.replanned.lock().is_some_and(|since| since.elapsed() <= age)
    }

    /// Whether a session that was idle so long may be used. It is asked where it may have died meanwhile, or some are suspect; and
    /// not where all that was open is taken for dead, because each would be waited for in its turn.
    ///
    /// # Errors
    /// When it may not: it is thrown away, and its place in the pool is free.
    pub(crate) async fn ask(
        &self,
        session: &mut PgConnection,
        (age, idle_for): (Duration, Duration),
    ) -> Result<bool, sqlx::Error> {
        if self.is_dead(age) {
            return Err(silence());
        }
        if idle_for < BELIEVED && !self.are_raised() {
            return Ok(true);
        }
        self.count_down();
        sign_of_life(session).await
    }
}

impl Db {
    /// Waits for `operation` no longer than any operation takes while its connection lives. What it was doing may have been done
    /// all the same, as with any answer that is lost.
    ///
    /// # Errors
    /// Those of `operation`; [`Error::Unavailable`] when nothing was heard of it for 15 seconds.
    #[track_caller]
    pub fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        self.within(ANSWER, operation)
    }

    /// The same, no longer than `wait`: for operations that the server gives another time.
    ///
    /// # Errors
    /// As [`in_time`](Self::in_time), after `wait`.
    #[track_caller]
    pub fn within<T>(
        &self,
        wait: Duration,
        operation: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        let at = Location::caller();
        // On the heap before anything else: a future that holds another by value is twice as large, and operations lie deep.
        let mut operation = Box::pin(operation);
        async move {
            // It is dropped after the sessions are marked suspect, and its session with it.
            if let Ok(answer) = tokio::time::timeout(wait, operation.as_mut()).await {
                return answer.inspect(|_| self.suspects.hear()).inspect_err(|error| self.note_error(error));
            }
            self.suspect_connections();
            Err(Error::Unavailable { at, source: silence() })
        }
    }

    /// Hears what an operation failed of that was not waited for by [`in_time`](Self::in_time): whether it is time to
    /// [`replan`](Self::replan), to leave a server that only reads, or to look where the database is now. When no server accepts writes, sessions are replaced
    /// once every few seconds and not with every write.
    pub fn note_error(&self, error: &Error) {
        if error.is_of_an_old_plan() || error.is_of_a_reader() && !self.suspects.is_replanned_within(READERS)
        {
            self.replan();
        }
        if error.may_be_elsewhere() {
            self.locator.seek();
        }
    }

    /// A migration has changed a table beneath this process ([`Error::is_of_an_old_plan`]): the sessions that are open now,
    /// which planned by the older schema, are replaced before they are used again, and a repeat is answered.
    pub fn replan(&self) {
        self.suspects.replan();
    }

    /// A caller stopped waiting for an operation in the middle: its session may be why.
    pub fn suspect_connections(&self) {
        self.suspects.raise();
        self.locator.seek();
    }
}

/// Whether a session that was given up may be used again: the server says that it is in no transaction. When no answer came in time it
/// may be silent, busy, or in a transaction of which the driver does not know. sqlx's pool would wait for it without a limit, and asks
/// whether it is alive, not whether it is idle.
///
/// # Errors
/// When it said nothing, or something else: the pool closes it without a goodbye.
pub(crate) async fn is_idle(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let answer = tokio::time::timeout(SIGN_OF_LIFE, idle(session)).await;
    answer.unwrap_or_else(|_| Err(silence()))
}

/// The driver keeps what the server says of each session to itself, but compares it in `begin_with`: a statement that begins no
/// transaction is refused as one, unless a transaction is open already.
async fn idle(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match session.begin_with(sql!("sessions/sign_of_life.sql")).await {
        Err(sqlx::Error::BeginFailed) => Ok(true),
        Ok(_) | Err(sqlx::Error::InvalidSavePointStatement) => Ok(false),
        // Of a transaction that failed, the server ignores every statement but its end.
        Err(sqlx::Error::Database(refusal)) if refusal.code().is_some_and(|code| code == "25P02") => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn sign_of_life(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match tokio::time::timeout(SIGN_OF_LIFE, session.ping()).await {
        Ok(lives) => lives.map(|()| true),
        Err(_) => Err(silence()),
    }
}

fn silence() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the connection is silent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_timeout_marks_a_bounded_number_of_sessions_suspect() {
        let suspects = SuspectConnections::default();
        assert!(!suspects.are_raised());
        suspects.raise();
        for _ in 0..SUSPECTED {
            assert!(suspects.are_raised());
            suspects.count_down();
        }
        assert!(!suspects.are_raised());
    }

    #[test]
    fn sessions_are_taken_for_dead_only_if_none_answers() {
        let (suspects, hour) = (SuspectConnections::default(), Duration::from_secs(3_600));
        suspects.hear();
        suspects.raise();
        assert!(suspects.are_raised() && !suspects.is_dead(hour), "the server is slow");
        *suspects.0.heard.lock() = Instant::now().checked_sub(SILENT);
        suspects.raise();
        assert!(
            suspects.is_dead(hour) && !suspects.is_dead(Duration::ZERO),
            "what is opened then is trusted"
        );
    }
}
