//! What the database itself said, for operators at a terminal.

use sqlx::error::DatabaseError;

use crate::Error;

impl Error {
    /// The database's own words and its SQLSTATE, without the place in the server's code that drivers add; `None` when
    /// it was not the database that refused. For a terminal alone: such words may hold what a person said.
    pub fn refusal(&self) -> Option<String> {
        let refusal = self.said()?;
        let code = refusal.code().map(|code| format!(" (SQLSTATE {code})")).unwrap_or_default();
        Some(format!("{}{code}", refusal.message()))
    }

    /// The SQLSTATE of what the database refused, which holds no user's words: for logs.
    pub fn sqlstate(&self) -> Option<String> {
        self.said()?.code().map(|code| code.into_owned())
    }

    fn said(&self) -> Option<&dyn DatabaseError> {
        let (Self::Unavailable { source, .. } | Self::Refused { source, .. }) = self else { return None };
        source.as_database_error()
    }
}
