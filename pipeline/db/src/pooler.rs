//! Whether a pooler in front of the server keeps sessions, or at least what they have prepared.

use std::{io::ErrorKind, time::Duration};

use sqlx::{
    ConnectOptions, Connection,
    Error::Database,
    PgConnection,
    error::DatabaseError,
    postgres::{PgConnectOptions, PgDatabaseError, PgSeverity},
};
use tokio::time::timeout;

use crate::{Db, Error};

/// A prepared statement that is there already, that is not there, or that takes other parameters than were sent: it is another's.
const ANOTHERS: [&str; 3] = ["42P05", "26000", "08P01"];

/// How long the two sessions may take: a pooler that has none left lets them wait for minutes. That says nothing of the sessions that the
/// process has.
const PATIENCE: Duration = Duration::from_secs(5);

impl Db {
    /// Whether prepared statements are lost between transactions, because a pooler hands each to another session: then a statement
    /// fails, or is another client's of the same name. Of two sessions that were just opened, both prepare their first one under
    /// the same name, which a session of the server's own can have once.
    ///
    /// # Errors
    /// When the server did not say so, or not within five seconds.
    pub async fn loses_statements(&self) -> Result<bool, Error> {
        self.locate().await?;
        let options = self.pool.connect_options();
        let asked = timeout(PATIENCE, loses_statements(&options)).await;
        Ok(asked.unwrap_or_else(|_| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))?)
    }
}

async fn loses_statements(options: &PgConnectOptions) -> Result<bool, sqlx::Error> {
    let (mut one, mut other) = (options.connect().await?, options.connect().await?);
    let loses = !echoes(&mut one, "one").await? || !echoes(&mut other, "other").await?;
    one.close().await?;
    other.close().await?;
    Ok(loses)
}

/// Whether the session answers what it was asked.
async fn echoes(session: &mut PgConnection, word: &str) -> Result<bool, sqlx::Error> {
    let echo = sqlx::query_scalar(include_str!("../sql/sessions/echo.sql")).bind(word);
    match echo.fetch_one(session).await.map(|heard: String| heard == word) {
        Err(Database(refusal)) if is_anothers(refusal.as_ref()) => Ok(false),
        answered => answered,
    }
}

/// A pooler that cannot reach the server ends the session with one of these codes; the server does not.
fn is_anothers(refusal: &dyn DatabaseError) -> bool {
    let refusal = refusal.try_downcast_ref::<PgDatabaseError>();
    refusal
        .is_some_and(|refusal| refusal.severity() == PgSeverity::Error && ANOTHERS.contains(&refusal.code()))
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgSslMode;
    use tokio::{net::TcpListener, time::Instant};

    use super::*;
    use crate::{Secrets, Shard};

    /// `listen doctor` was silent for two minutes.
    #[tokio::test(start_paused = true)]
    async fn pooler_that_has_no_session_left_is_not_waited_for() -> std::io::Result<()> {
        let full = TcpListener::bind("127.0.0.1:0").await?;
        let options =
            PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(full.local_addr()?.port());
        let options = options.username("ann").database("listen").ssl_mode(PgSslMode::Disable);
        let db = Db::new(options, 1, Secrets::default(), Shard::default());
        let began = Instant::now();
        let asked = timeout(Duration::from_secs(60), db.loses_statements()).await;
        assert!(asked.is_ok_and(|asked| asked.is_err()) && began.elapsed() < Duration::from_secs(10));
        Ok(())
    }
}
