//! What completions write on the conversations themselves.

use db::{Error, array, query};
use job::Timestamp;
use sqlx::PgConnection;
use store::conversations::shapes::{apps_to_json, events_to_json};

use super::Completion;

/// Completes kept conversations. What a person set (title, folder, discarded) stays; the rest is replaced.
pub(super) async fn complete_conversations(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<(), Error> {
    if kept.is_empty() {
        return Ok(());
    }
    let events: Result<Vec<_>, _> =
        kept.iter().map(|done| events_to_json(&done.results.structured.events)).collect();
    query!(
        "completion/store_results.sql",
        now,
        array(kept, |done| done.claimed.user_id.as_str()),
        array(kept, |done| done.claimed.conversation_id.as_str()),
        array(kept, |done| done.results.structured.title.as_str()),
        array(kept, |done| done.results.structured.overview.as_str()),
        array(kept, |done| done.results.structured.emoji.as_str()),
        array(kept, |done| done.results.structured.category.as_str()),
        events.map_err(|error| sqlx::Error::Encode(error.into()))?,
        array(kept, |done| apps_to_json(&done.results.apps)),
        array(kept, |done| done.results.engine.as_str()),
        array(kept, |done| done.results.folder_id.as_deref())
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Judged not worth keeping: completed and discarded, unless the person said otherwise.
pub(super) async fn discard_conversations(
    connection: &mut PgConnection,
    discarded: &[&Completion],
    now: Timestamp,
) -> Result<(), Error> {
    if discarded.is_empty() {
        return Ok(());
    }
    query!(
        "completion/store_discarded.sql",
        now,
        array(discarded, |done| done.claimed.user_id.as_str()),
        array(discarded, |done| done.claimed.conversation_id.as_str()),
        array(discarded, |done| done.results.engine.as_str())
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// One vector per conversation: the newest. The vectors travel as one array, each with the place where it ends.
pub(super) async fn embeddings(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<(), Error> {
    let (mut users, mut conversations, mut models) = (Vec::new(), Vec::new(), Vec::new());
    let (mut numbers, mut ends): (Vec<f32>, Vec<i32>) = (Vec::new(), Vec::new());
    for completion in kept {
        let Some((model, vector)) = &completion.results.embedding else { continue };
        users.push(completion.claimed.user_id.as_str());
        conversations.push(completion.claimed.conversation_id.as_str());
        models.push(model.as_str());
        numbers.extend(vector);
        ends.push(i32::try_from(numbers.len()).unwrap_or(i32::MAX));
    }
    if users.is_empty() {
        return Ok(());
    }
    query!("completion/store_embeddings.sql", now, &users, &conversations, &models, &numbers, &ends)
        .execute(connection)
        .await?;
    Ok(())
}

/// What is on pictures.
pub(super) async fn photos(connection: &mut PgConnection, kept: &[&Completion]) -> Result<(), Error> {
    let mut rows = Vec::new();
    for Completion { claimed, results, .. } in kept {
        rows.extend(results.photos.iter().map(|(photo, description)| (claimed, photo, description)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    query!(
        "completion/describe_photos.sql",
        array(&rows, |(claimed, ..)| claimed.user_id.as_str()),
        array(&rows, |(claimed, ..)| claimed.conversation_id.as_str()),
        array(&rows, |(_, photo, _)| photo.as_str()),
        array(&rows, |(.., description)| description.as_str())
    )
    .execute(connection)
    .await?;
    Ok(())
}
