//! Deliveries about what a person made and then deleted: as with a conversation, what was not delivered goes with it.

use records::UserId;
use sqlx::PgConnection;

/// Takes back what is still to be told of a thing that belongs to no conversation, and what is kept of its words.
pub(crate) async fn forget_made(
    connection: &mut PgConnection,
    user: &UserId,
    thing: &str,
) -> Result<(), sqlx::Error> {
    for statement in [
        "delete from webhook_deliveries where user_id = $1 and conversation_id is null and subject_id = $2 \
             and status in ('pending', 'sending')",
        "update webhook_deliveries set body = null where user_id = $1 and conversation_id is null \
             and subject_id = $2 and body is not null",
    ] {
        sqlx::query(statement).bind(user.as_str()).bind(thing).execute(&mut *connection).await?;
    }
    Ok(())
}
