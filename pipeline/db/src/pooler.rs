//! Whether a pooler in front of the server keeps sessions, or at least what they have prepared.

use sqlx::{ConnectOptions, Connection};

use crate::{Db, Error, Trouble};

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
        for session in [&mut one, &mut other] {
            let asked = sqlx::query(include_str!("../sql/sessions/sign_of_life.sql")).execute(session).await;
            match asked.map_err(Error::from) {
                Err(error) if error.trouble() == Some(Trouble::Pooler) => return Ok(true),
                asked => asked?,
            };
        }
        one.close().await?;
        other.close().await?;
        Ok(false)
    }
}
