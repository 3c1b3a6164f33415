//! What a session must show before it goes back to its pool.
//!
//! An operation that is dropped in the middle can leave its transaction open: sqlx 0.9.0 forgets a `begin` that
//! was dropped before its answer (transact-rs/sqlx#4393, mended after 0.9.0), and its pool asks a released session whether it is alive,
//! not whether it is idle. Whatever the next user of such a session writes is acknowledged and never committed. So the
//! server is asked.

use std::{
    iter::Sum,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sqlx::{Connection, PgConnection};

use crate::Db;

/// How long a released session may take to answer. One that is still busy with an abandoned statement is closed: to wait
/// for it would keep its place in the pool taken.
const ANSWER: Duration = Duration::from_secs(1);

/// The sessions of this process that were closed on release. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Releases(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    in_transaction: AtomicU64,
    broken: AtomicU64,
}

/// How many released sessions were closed instead of going back to their pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedSessions {
    /// Their transaction was open or had failed.
    pub in_transaction: u64,
    /// They did not answer, or answered something else.
    pub broken: u64,
}

impl Sum for ClosedSessions {
    fn sum<I: Iterator<Item = Self>>(closed: I) -> Self {
        closed.fold(Self::default(), |sum, one| Self {
            in_transaction: sum.in_transaction + one.in_transaction,
            broken: sum.broken + one.broken,
        })
    }
}

impl Releases {
    /// Whether `session` may go back to its pool: only when the server says that it is idle.
    ///
    /// # Errors
    /// When it said nothing, or something else: then it is closed without a goodbye.
    pub(crate) async fn is_reusable(&self, session: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let answer = tokio::time::timeout(ANSWER, status(session)).await;
        match answer.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
            Ok(Status::Idle) => Ok(true),
            Ok(Status::InTransaction) => {
                self.0.in_transaction.fetch_add(1, Ordering::Relaxed);
                Ok(false)
            }
            Err(error) => {
                self.0.broken.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// What `ReadyForQuery` says of a session.
enum Status {
    Idle,
    InTransaction,
}

/// The driver keeps that status to itself, but compares it in `begin_with`: a statement that begins no transaction is
/// refused as one, unless a transaction is open already.
async fn status(session: &mut PgConnection) -> Result<Status, sqlx::Error> {
    match session.begin_with(include_str!("../sql/sessions/sign_of_life.sql")).await {
        Err(sqlx::Error::BeginFailed) => Ok(Status::Idle),
        Ok(_) | Err(sqlx::Error::InvalidSavePointStatement) => Ok(Status::InTransaction),
        // Of a transaction that failed, the server ignores every statement but its end.
        Err(sqlx::Error::Database(refusal)) if refusal.code().is_some_and(|code| code == "25P02") => {
            Ok(Status::InTransaction)
        }
        Err(error) => Err(error),
    }
}

impl Db {
    /// How many sessions of this process were closed on release so far.
    pub fn closed_sessions(&self) -> ClosedSessions {
        let Counts { in_transaction, broken } = &*self.releases.0;
        ClosedSessions {
            in_transaction: in_transaction.load(Ordering::Relaxed),
            broken: broken.load(Ordering::Relaxed),
        }
    }
}
