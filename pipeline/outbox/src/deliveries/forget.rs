//! Deliveries about deleted objects: what was not delivered is cancelled, and what was loses its body.

use records::UserId;
use sqlx::PgConnection;

/// Cancels undelivered events about these objects of one conversation, or of none, and erases their words.
/// Events about the conversation itself stay.
pub async fn forget_objects(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: Option<&str>,
    ids: &[&str],
) -> Result<(), sqlx::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    // Two statements each: an index serves `conversation_id = $3` and another one `is null`, and neither serves both.
    let (cancel, erase) = match conversation {
        Some(_) => (
            include_str!("../../sql/deliveries/cancel_of_conversation.sql"),
            include_str!("../../sql/deliveries/erase_of_conversation.sql"),
        ),
        None => (
            include_str!("../../sql/deliveries/cancel_of_no_conversation.sql"),
            include_str!("../../sql/deliveries/erase_of_no_conversation.sql"),
        ),
    };
    for statement in [cancel, erase] {
        sqlx::query(statement)
            .bind(user.as_str())
            .bind(ids)
            .bind(conversation)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
