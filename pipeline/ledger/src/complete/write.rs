//! What completion writes on the conversation itself.

use job::{Outcome, Timestamp};
use sqlx::PgConnection;

use super::Results;
use crate::{
    conversations::shapes::{apps_to_json, events_to_json},
    error::{Doing, Error},
    take::Claimed,
};

/// Completes the conversation. What a person set (title, folder, discarded) stays; the rest is replaced.
pub(super) async fn write_conversation(
    connection: &mut PgConnection,
    claimed: &Claimed,
    outcome: Outcome,
    results: &Results,
    now: Timestamp,
) -> Result<(), Error> {
    if outcome != Outcome::Kept {
        return discard_conversation(connection, claimed, now).await;
    }
    let structured = &results.structured;
    let encode = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let events = events_to_json(&structured.events).map_err(encode).doing("completing a conversation")?;
    let apps = apps_to_json(&results.apps).map_err(encode).doing("completing a conversation")?;
    sqlx::query(
        "update conversations set status = 'completed', updated_at = $3, \
             title = case when title_by_person then title else $4 end, overview = $5, emoji = $6, category = $7, \
             events = $8, apps_results = $9, engine = $10, \
             folder_id = case when folder_by_person or $11::text is null then folder_id \
                 else coalesce((select f.folder_id from folders f \
                     where f.user_id = $1 and f.folder_id = $11), folder_id) end, \
             discarded = discarded and discarded_by_person, discarded_by_failure = false \
         where user_id = $1 and conversation_id = $2",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(now)
    .bind(&structured.title)
    .bind(&structured.overview)
    .bind(&structured.emoji)
    .bind(structured.category.as_str())
    .bind(events)
    .bind(apps)
    .bind(&results.engine)
    .bind(&results.folder_id)
    .execute(connection)
    .await
    .doing("completing a conversation")
    .map(drop)
}

/// Judged not worth keeping: completed and discarded, unless the person said otherwise.
async fn discard_conversation(
    connection: &mut PgConnection,
    claimed: &Claimed,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "update conversations set status = 'completed', updated_at = $3, discarded_by_failure = false, \
             discarded = case when discarded_by_person then discarded else true end \
         where user_id = $1 and conversation_id = $2",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(now)
    .execute(connection)
    .await
    .doing("discarding a conversation")
    .map(drop)
}

/// One vector per conversation: the newest.
pub(super) async fn write_embedding(
    connection: &mut PgConnection,
    claimed: &Claimed,
    results: &Results,
    now: Timestamp,
) -> Result<(), Error> {
    let Some((model, vector)) = &results.embedding else { return Ok(()) };
    sqlx::query(
        "insert into embeddings (user_id, conversation_id, model, vector, created_at) values ($1, $2, $3, $4, $5) \
         on conflict (user_id, conversation_id) do update \
             set model = excluded.model, vector = excluded.vector, created_at = excluded.created_at",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(model)
    .bind(vector)
    .bind(now)
    .execute(connection)
    .await
    .doing("keeping an embedding")
    .map(drop)
}
