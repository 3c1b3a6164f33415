//! What the database itself said, for operators at a terminal.

use crate::Error;

impl Error {
    /// The database's own words and its SQLSTATE, without the place in the server's code that drivers add; `None` when
    /// it was not the database that refused. For a terminal alone: such words may hold what a person said.
    pub fn refusal(&self) -> Option<String> {
        let (Self::Unavailable { source, .. } | Self::Refused { source, .. }) = self else { return None };
        let refusal = source.as_database_error()?;
        let code = refusal.code().map(|code| format!(" (SQLSTATE {code})")).unwrap_or_default();
        Some(format!("{}{code}", refusal.message()))
    }
}
