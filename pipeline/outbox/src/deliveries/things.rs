//! Deliveries about things that are no more: as with a conversation, what was not delivered goes with them.

use records::UserId;
use sqlx::{AssertSqlSafe, PgConnection};

/// Cancels undelivered events about these objects of one conversation, or of none, and erases their words.
/// Events about the conversation itself stay.
pub async fn forget_things(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: Option<&str>,
    things: &[&str],
) -> Result<(), sqlx::Error> {
    if things.is_empty() {
        return Ok(());
    }
    // Each has its index: what may be null, or not, has none.
    let of = match conversation {
        Some(_) => "conversation_id = $3",
        None => "conversation_id is null and $3::text is null",
    };
    let told_no_more = format!(
        "delete from webhook_deliveries where user_id = $1 and {of} and subject_id = any($2) \
             and status in ('pending', 'sending')"
    );
    // Held in the order in which a recovery holds what it makes due again.
    let words_forgotten = format!(
        "with kept as (select user_id, endpoint_id, delivery_id from webhook_deliveries \
             where user_id = $1 and {of} and subject_id = any($2) and body is not null \
             order by occurred_at, delivery_id for update) \
         update webhook_deliveries d set body = null from kept k \
         where d.user_id = k.user_id and d.endpoint_id = k.endpoint_id and d.delivery_id = k.delivery_id"
    );
    for statement in [told_no_more, words_forgotten] {
        // Only constants of ours are in the text.
        sqlx::query(AssertSqlSafe(statement))
            .bind(user.as_str())
            .bind(things)
            .bind(conversation)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
