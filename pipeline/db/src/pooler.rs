//! Whether a pooler in front of the server keeps sessions, or at least what they have prepared.

use sqlx::{
    ConnectOptions, Connection,
    Error::Database,
    PgConnection,
    error::DatabaseError,
    postgres::{PgDatabaseError, PgSeverity},
};

use crate::{Db, Error};

/// A prepared statement that is there already, that is not there, or that takes other parameters than were sent: it is another's.
const ANOTHERS: [&str; 3] = ["42P05", "26000", "08P01"];

impl Db {
    /// Whether prepared statements are lost between transactions, because a pooler hands each to another session: then a statement
    /// fails, or is another client's of the same name. Of two sessions that were just opened, both prepare their first one under
    /// the same name, which a session of the server's own can have once.
    ///
    /// # Errors
    /// When the server did not say so.
    pub async fn loses_statements(&self) -> Result<bool, Error> {
        self.locate().await?;
        let options = self.pool.connect_options();
        let (mut one, mut other) = (options.connect().await?, options.connect().await?);
        let loses = !echoes(&mut one, "one").await? || !echoes(&mut other, "other").await?;
        one.close().await?;
        other.close().await?;
        Ok(loses)
    }
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
