//! The conversation that a user's capture is filling.

use db::{Doing, Error};
use records::{ConversationId, UserId};

use crate::Store;

/// A conversation that still takes words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    /// Which.
    pub id: ConversationId,
    /// A socket fills it, or did.
    pub is_live: bool,
}

impl Store {
    /// The user's most recently active conversation in progress; the stub of a socket into which nothing was said yet is
    /// none.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn in_progress(&self, user: &UserId) -> Result<Option<InProgress>, Error> {
        let found: Option<(String, bool)> = sqlx::query_as(
            "select conversation_id, live_epoch is not null from conversations c \
             where user_id = $1 and status = 'in_progress' and (live_epoch is null \
                 or c.private_text is not null \
                 or exists (select from transcript_segments s \
                     where s.user_id = c.user_id and s.conversation_id = c.conversation_id) \
                 or exists (select from photos p \
                     where p.user_id = c.user_id and p.conversation_id = c.conversation_id)) \
             order by coalesce(last_activity_at, last_append_at, created_at) desc, created_at desc, \
                 conversation_id limit 1",
        )
        .bind(user.as_str())
        .fetch_optional(self.db.pool())
        .await
        .doing("looking for a conversation in progress")?;
        Ok(found.map(|(id, is_live)| InProgress { id: ConversationId::new(id), is_live }))
    }
}
