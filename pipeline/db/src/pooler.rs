//! What a pooler in front of the server does with sessions.

use std::{io::ErrorKind, time::Duration};

use sqlx::{
    ConnectOptions, Connection,
    Error::Database,
    PgConnection,
    error::DatabaseError,
    postgres::{PgConnectOptions, PgDatabaseError, PgSeverity},
};
use tokio::time::timeout;

use crate::{Db, Error, query_scalar};

/// A prepared statement that is there already, that is not there, or that takes other parameters than were sent: it is another's.
const ANOTHERS: [&str; 3] = ["42P05", "26000", "08P01"];

/// How long the two sessions may take: a pooler that has none left lets them wait for minutes. That says nothing of the sessions that the
/// process has.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whose a session of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The server's: there is no pooler, or it keeps sessions.
    Sessions,
    /// A pooler's, which hands each transaction to some session of the server. What is prepared is found in every one of them; what is
    /// listened for is not heard, and some poolers end a session that is notified.
    Transactions,
    /// The same, and prepared statements are lost: a statement fails, or is another client's of the same name.
    LosesStatements,
}

impl Db {
    /// What is found with two sessions that were just opened. Both prepare their first statement under the same name, which a session
    /// of the server's own can have once; and both ask by which of the server's processes they are served, which is one for each as
    /// long as it lives. Under load a pooler may happen to look as if it kept sessions.
    ///
    /// # Errors
    /// When the server did not say so, or not within five seconds.
    pub async fn pooling(&self) -> Result<Pooling, Error> {
        self.locate().await?;
        let options = self.pool.connect_options();
        let asked = timeout(PATIENCE, pooling(&options)).await;
        Ok(asked.unwrap_or_else(|_| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))?)
    }
}

async fn pooling(options: &PgConnectOptions) -> Result<Pooling, sqlx::Error> {
    let (mut one, mut other) = (options.connect().await?, options.connect().await?);
    if !echoes(&mut one, "one").await? || !echoes(&mut other, "other").await? {
        return Ok(Pooling::LosesStatements);
    }
    let of_one = server_process(&mut one).await?;
    let mut is_shared = server_process(&mut other).await? == of_one;
    // Twice: where two sessions of the server take turns, the first is back at its own.
    for _ in 0..2 {
        is_shared |= server_process(&mut one).await? != of_one;
    }
    one.close().await?;
    other.close().await?;
    Ok(if is_shared { Pooling::Transactions } else { Pooling::Sessions })
}

async fn server_process(session: &mut PgConnection) -> Result<i32, sqlx::Error> {
    query_scalar!("sessions/pid.sql").fetch_one(session).await
}

/// Whether the session answers what it was asked.
async fn echoes(session: &mut PgConnection, word: &str) -> Result<bool, sqlx::Error> {
    let echo = query_scalar!("sessions/echo.sql", word);
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
        let asked = timeout(Duration::from_secs(60), db.pooling()).await;
        assert!(asked.is_ok_and(|asked| asked.is_err()) && began.elapsed() < Duration::from_secs(10));
        Ok(())
    }
}
