//! Whether a session that was given up may be used again.
//!
//! When no answer came in time ([`deadline`](crate::deadline)) the session may be silent, busy, or in a transaction of which
//! the driver does not know. sqlx's pool would wait for it without a limit, and asks whether it is alive, not whether it is idle.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

/// How long it may take to answer. One that is still busy with an abandoned statement is closed: to wait for it would keep its
/// place in the pool taken.
const ANSWER: Duration = Duration::from_secs(1);

/// Whether the server says that `session` is in no transaction.
///
/// # Errors
/// When it said nothing, or something else: the pool closes it without a goodbye.
pub(crate) async fn is_idle(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let answer = tokio::time::timeout(ANSWER, ask(session)).await;
    answer.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())))
}

/// The driver keeps what the server says of each session to itself, but compares it in `begin_with`: a statement that begins no
/// transaction is refused as one, unless a transaction is open already.
async fn ask(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match session.begin_with(include_str!("../sql/sessions/sign_of_life.sql")).await {
        Err(sqlx::Error::BeginFailed) => Ok(true),
        Ok(_) | Err(sqlx::Error::InvalidSavePointStatement) => Ok(false),
        // Of a transaction that failed, the server ignores every statement but its end.
        Err(sqlx::Error::Database(refusal)) if refusal.code().is_some_and(|code| code == "25P02") => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
