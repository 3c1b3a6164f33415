//! Deliveries about an action item or a memory that was deleted: what was not delivered is deleted with it.

use records::UserId;
use sqlx::{AssertSqlSafe, PgConnection};

/// Deletes undelivered events about these objects of one conversation, or of none, and erases the bodies of the others.
/// Events about the conversation itself stay.
pub async fn forget_subjects(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: Option<&str>,
    subjects: &[&str],
) -> Result<(), sqlx::Error> {
    if subjects.is_empty() {
        return Ok(());
    }
    // Each has its index: what may be null, or not, has none.
    let of = match conversation {
        Some(_) => "conversation_id = $3",
        None => "conversation_id is null and $3::text is null",
    };
    let undelivered = format!(
        "delete from webhook_deliveries where user_id = $1 and {of} and subject_id = any($2) \
             and status in ('pending', 'sending')"
    );
    // Locked in the order in which a recovery locks what it makes due again.
    let bodies = format!(
        "with kept as (select user_id, endpoint_id, delivery_id from webhook_deliveries \
             where user_id = $1 and {of} and subject_id = any($2) and body is not null \
             order by occurred_at, delivery_id for update) \
         update webhook_deliveries d set body = null from kept k \
         where d.user_id = k.user_id and d.endpoint_id = k.endpoint_id and d.delivery_id = k.delivery_id"
    );
    for statement in [undelivered, bodies] {
        // Only constants of ours are in the text.
        sqlx::query(AssertSqlSafe(statement))
            .bind(user.as_str())
            .bind(subjects)
            .bind(conversation)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
