//! Memories of completions: compared once more with what is kept, then written.

use std::collections::HashMap;

use db::{Error, array, query, query_as, query_scalar};
use job::Timestamp;
use records::KnownTexts;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Completion, NewMemory, deleted, grouped, thing_id};

/// At most 4 memories per conversation (spec, "Limits").
const PER_CONVERSATION: usize = 4;
/// The namespace of derived ids; part of the durable contract.
const MEMORIES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f6d_656d_6f72_6965_7300);

/// Takes back what an earlier revision extracted and no person has touched since (DECISIONS §4). Answers, for each
/// completion, the ids of those.
pub(super) async fn take_back_earlier(
    connection: &mut PgConnection,
    kept: &[&Completion],
) -> Result<Vec<Vec<String>>, Error> {
    let mut taken_back = vec![Vec::new(); kept.len()];
    let claims = kept.iter().map(|completion| &completion.claimed).zip(&mut taken_back);
    for (claimed, taken_back) in claims.filter(|(claimed, _)| claimed.revision > 1) {
        *taken_back = query_scalar!(
            "completion/take_back_memories.sql",
            &claimed.user_id,
            &claimed.conversation_id,
            claimed.revision
        )
        .fetch_all(&mut *connection)
        .await?;
    }
    Ok(taken_back)
}

/// Writes the new memories that nothing kept already says, and nothing that the person deleted of the very conversation.
/// Answers, for each completion, the ids of those that were created.
pub(super) async fn write(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<Vec<Vec<String>>, Error> {
    let stored = known(connection, kept).await?;
    let deleted = deleted(connection, kept, "memory", |same| same.facts()).await?;
    let mut known: HashMap<&str, Box<dyn KnownTexts>> = HashMap::new();
    let mut fresh: Vec<Vec<(String, &NewMemory)>> = Vec::new();
    for (completion, deleted) in kept.iter().zip(deleted) {
        let user = completion.claimed.user_id.as_str();
        let known = known.entry(user).or_insert_with(|| {
            let mut known = completion.same.facts();
            stored.get(user).into_iter().flatten().for_each(|content| known.add(content));
            known
        });
        fresh.push(sort_out(completion, &mut **known, &*deleted));
    }
    insert(connection, kept, &fresh, now).await?;
    Ok(fresh.into_iter().map(|fresh| fresh.into_iter().map(|(id, _)| id).collect()).collect())
}

/// Compares a completion's memories with those that the person has or deleted, and with each other. What is new is known from
/// then on, to the next completion of the same person too.
fn sort_out<'a>(
    completion: &'a Completion,
    known: &mut dyn KnownTexts,
    deleted: &dyn KnownTexts,
) -> Vec<(String, &'a NewMemory)> {
    let mut fresh = Vec::new();
    for memory in &completion.results.memories {
        let is_known = [&*known, deleted].iter().any(|texts| texts.find(&memory.content).is_some());
        if !is_known && fresh.len() < PER_CONVERSATION {
            known.add(&memory.content);
            fresh.push((thing_id(&MEMORIES, completion, &memory.content), memory));
        }
    }
    fresh
}

/// By person, what the newest memories say, and what is left of the conversations themselves.
async fn known(
    connection: &mut PgConnection,
    kept: &[&Completion],
) -> Result<HashMap<String, Vec<String>>, Error> {
    let people = super::people_with(kept, |results| !results.memories.is_empty());
    if people.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<Known> = query_as!(
        "completion/known_memories.sql",
        &people,
        array(kept, |completion| completion.claimed.user_id.as_str()),
        array(kept, |completion| completion.claimed.conversation_id.as_str())
    )
    .fetch_all(connection)
    .await?;
    Ok(grouped(rows.into_iter().map(|row| (row.user_id, row.content))))
}

#[derive(sqlx::FromRow)]
struct Known {
    user_id: String,
    content: String,
}

async fn insert(
    connection: &mut PgConnection,
    kept: &[&Completion],
    fresh: &[Vec<(String, &NewMemory)>],
    now: Timestamp,
) -> Result<(), Error> {
    let mut rows = Vec::new();
    for (completion, fresh) in kept.iter().zip(fresh) {
        rows.extend(fresh.iter().map(|(id, memory)| (&completion.claimed, id, *memory)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    query!(
        "completion/insert_memories.sql",
        now,
        array(&rows, |(claimed, ..)| claimed.user_id.as_str()),
        array(&rows, |(claimed, ..)| claimed.conversation_id.as_str()),
        array(&rows, |(claimed, ..)| claimed.revision),
        array(&rows, |(_, id, _)| id.as_str()),
        array(&rows, |(.., memory)| memory.content.as_str()),
        array(&rows, |(.., memory)| memory.category.as_str())
    )
    .execute(connection)
    .await?;
    Ok(())
}
