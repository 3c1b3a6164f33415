//! What completions write on the conversations themselves.

use db::{Doing, Error};
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
    const DOING: &str = "completing conversations";
    if kept.is_empty() {
        return Ok(());
    }
    let of = |field: fn(&Completion) -> Option<&str>| -> Vec<Option<&str>> {
        kept.iter().map(|completion| field(completion)).collect()
    };
    let encode = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let (mut events, mut apps): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for completion in kept {
        events.push(events_to_json(&completion.results.structured.events).map_err(encode).doing(DOING)?);
        apps.push(apps_to_json(&completion.results.apps).map_err(encode).doing(DOING)?);
    }
    sqlx::query(
        "with done as (select t.*, f.folder_id as filed from unnest($2::text[], $3::text[], $4::text[], $5::text[], \
                 $6::text[], $7::text[], $8::jsonb[], $9::jsonb[], $10::text[], $11::text[]) \
                 t (user_id, conversation_id, title, overview, emoji, category, events, apps, engine, folder_id) \
             join conversations c on c.user_id = t.user_id and c.conversation_id = t.conversation_id \
             left join folders f on f.user_id = t.user_id and f.folder_id = t.folder_id \
             order by t.user_id, t.conversation_id for no key update of c) \
         update conversations c set status = 'completed', updated_at = $1, \
             title = case when c.title_by_person then c.title else d.title end, overview = d.overview, \
             emoji = d.emoji, category = d.category, events = d.events, apps_results = d.apps, engine = d.engine, \
             folder_id = case when c.folder_by_person then c.folder_id else coalesce(d.filed, c.folder_id) end, \
             discarded = c.discarded and c.discarded_by_person, discarded_by_failure = false, indexed_revision = null \
         from done d where c.user_id = d.user_id and c.conversation_id = d.conversation_id",
    )
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
    .await
    .doing(DOING)
    .map(drop)
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
    sqlx::query(
        "with judged as (select t.* from conversations c \
             join unnest($2::text[], $3::text[], $4::text[]) t (user_id, conversation_id, engine) \
                 using (user_id, conversation_id) \
             order by c.user_id, c.conversation_id for no key update of c) \
         update conversations c set status = 'completed', updated_at = $1, discarded_by_failure = false, \
             discarded = case when c.discarded_by_person then c.discarded else true end, engine = j.engine \
         from judged j where c.user_id = j.user_id and c.conversation_id = j.conversation_id",
    )
    .bind(now)
    .bind(discarded.iter().map(|done| done.claimed.user_id.as_str()).collect::<Vec<_>>())
    .bind(discarded.iter().map(|done| done.claimed.conversation_id.as_str()).collect::<Vec<_>>())
    .bind(discarded.iter().map(|done| done.results.engine.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .doing("discarding conversations")
    .map(drop)
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
    sqlx::query(
        "insert into embeddings (user_id, conversation_id, model, vector, created_at) \
         select t.user_id, t.conversation_id, t.model, ($5::real[])[coalesce(lag(t.ends) over (order by t.place), 0) + 1:t.ends], $1 \
         from unnest($2::text[], $3::text[], $4::text[], $6::integer[]) with ordinality \
             t (user_id, conversation_id, model, ends, place) \
         on conflict (user_id, conversation_id) do update \
             set model = excluded.model, vector = excluded.vector, created_at = excluded.created_at",
    )
    .bind(now)
    .bind(&users)
    .bind(&conversations)
    .bind(&models)
    .bind(&numbers)
    .bind(&ends)
    .execute(connection)
    .await
    .doing("keeping embeddings")
    .map(drop)
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
    sqlx::query(
        "update photos p set description = t.description \
         from unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
             t (user_id, conversation_id, photo_id, description) \
         where p.user_id = t.user_id and p.conversation_id = t.conversation_id and p.photo_id = t.photo_id",
    )
    .bind(&users)
    .bind(&conversations)
    .bind(&photos)
    .bind(&descriptions)
    .execute(connection)
    .await
    .doing("describing pictures")
    .map(drop)
}
