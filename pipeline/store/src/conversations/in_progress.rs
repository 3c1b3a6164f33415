//! The conversation that a user's capture is filling.

use db::Error;
use records::{ConversationId, UserId};

use crate::Store;

/// A conversation that still takes words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    pub id: ConversationId,
    /// A socket fills it, or did.
    pub is_live: bool,
}

impl Store {
    /// The user's most recently active conversation in progress; the stub of a socket into which nothing was said yet is
    /// none.
    pub async fn in_progress(&self, user: &UserId) -> Result<Option<InProgress>, Error> {
        let found: Option<(String, bool)> =
            sqlx::query_as(include_str!("../../sql/conversations/in_progress.sql"))
                .bind(user.as_str())
                .fetch_optional(self.db.pool())
                .await?;
        Ok(found.map(|(id, is_live)| InProgress { id: ConversationId::new(id), is_live }))
    }
}
