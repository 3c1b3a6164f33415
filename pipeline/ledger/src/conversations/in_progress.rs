//! The conversation that a user's capture is filling.

use records::{ConversationId, UserId};

use crate::{
    Ledger,
    error::{Doing, Error},
};

impl Ledger {
    /// The newest conversation that still takes words; `None`: none is in progress.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn in_progress(&self, user: &UserId) -> Result<Option<ConversationId>, Error> {
        let id: Option<String> = sqlx::query_scalar(
            "select conversation_id from conversations where user_id = $1 and status = 'in_progress' \
             order by created_at desc, conversation_id limit 1",
        )
        .bind(user.as_str())
        .fetch_optional(&self.pool)
        .await
        .doing("looking for a conversation in progress")?;
        Ok(id.map(ConversationId::new))
    }
}
