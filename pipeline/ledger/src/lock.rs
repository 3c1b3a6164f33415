//! Locking one conversation: its user and its job are locked before it.

use db::Error;
use records::{ConversationId, UserId};
use sqlx::PgConnection;

/// Waits for the lock of a conversation. Returns `false` if it does not exist.
pub(crate) async fn lock_conversation(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<bool, Error> {
    let there: Option<bool> = sqlx::query_scalar(include_str!("../sql/conversations/lock.sql"))
        .bind(user.as_str())
        .bind(conversation.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(there.is_some())
}
