//! What completions write on the conversations themselves.

use db::Error;
use job::Timestamp;
use serde_json::Value;
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
    let of = |field: fn(&Completion) -> Option<&str>| -> Vec<Option<&str>> {
        kept.iter().map(|completion| field(completion)).collect()
    };
    let encode = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let (mut events, mut apps): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for completion in kept {
        events.push(events_to_json(&completion.results.structured.events).map_err(encode)?);
        apps.push(apps_to_json(&completion.results.apps));
    }
    sqlx::query(include_str!("../../sql/completion/store_results.sql"))
        .bind(now)
        .bind(of(|done| Some(done.claimed.user_id.as_str())))
        .bind(of(|done| Some(done.claimed.conversation_id.as_str())))
        .bind(of(|done| Some(&done.results.structured.title)))
        .bind(of(|done| Some(&done.results.structured.overview)))
        .bind(of(|done| Some(&done.results.structured.emoji)))
        .bind(of(|done| Some(done.results.structured.category.as_str())))
        .bind(events)
        .bind(apps)
        .bind(of(|done| Some(&done.results.engine)))
        .bind(of(|done| done.results.folder_id.as_deref()))
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
    sqlx::query(include_str!("../../sql/completion/store_discarded.sql"))
        .bind(now)
        .bind(discarded.iter().map(|done| done.claimed.user_id.as_str()).collect::<Vec<_>>())
        .bind(discarded.iter().map(|done| done.claimed.conversation_id.as_str()).collect::<Vec<_>>())
        .bind(discarded.iter().map(|done| done.results.engine.as_str()).collect::<Vec<_>>())
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
    sqlx::query(include_str!("../../sql/completion/store_embeddings.sql"))
        .bind(now)
        .bind(&users)
        .bind(&conversations)
        .bind(&models)
        .bind(&numbers)
        .bind(&ends)
        .execute(connection)
        .await?;
    Ok(())
}

/// What is on pictures.
pub(super) async fn photos(connection: &mut PgConnection, kept: &[&Completion]) -> Result<(), Error> {
    let (mut users, mut conversations) = (Vec::new(), Vec::new());
    let (mut photos, mut descriptions) = (Vec::new(), Vec::new());
    for completion in kept {
        for (photo, description) in &completion.results.photos {
            users.push(completion.claimed.user_id.as_str());
            conversations.push(completion.claimed.conversation_id.as_str());
            photos.push(photo.as_str());
            descriptions.push(description.as_str());
        }
    }
    if users.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../../sql/completion/describe_photos.sql"))
        .bind(&users)
        .bind(&conversations)
        .bind(&photos)
        .bind(&descriptions)
        .execute(connection)
        .await?;
    Ok(())
}
