//! Memories of completions: compared once more with what is kept, then written.

use std::collections::{HashMap, HashSet};

use db::{Error, array, query, query_as};
use job::Timestamp;
use records::KnownTexts;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Completion, NewMemory, deleted, grouped, said_again, thing_id};

/// At most 4 memories per conversation (spec, "Limits").
const PER_CONVERSATION: usize = 4;
/// The namespace of derived ids; part of the durable contract.
const MEMORIES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f6d_656d_6f72_6965_7300);

/// A memory of an earlier revision.
#[derive(sqlx::FromRow)]
struct Earlier {
    memory_id: String,
    content: String,
}

/// What became of a completion's memories.
#[derive(Debug, Default)]
pub(super) struct MemoryChanges {
    /// The ids of those that were created.
    pub(super) created: Vec<String>,
    /// The ids of those that were taken back.
    pub(super) taken_back: Vec<String>,
    /// The places of results that are there already: an earlier revision said them, too.
    again: HashSet<usize>,
}

/// Replaces what earlier revisions extracted and no person has touched since (DECISIONS §4), and writes the new memories that nothing
/// kept already says, and nothing that the person deleted of the very conversation. Answers what became of each completion's.
pub(super) async fn write(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<Vec<MemoryChanges>, Error> {
    let mut changes = Vec::new();
    for completion in kept {
        changes.push(replace_earlier(connection, completion, now).await?);
    }
    let stored = known(connection, kept).await?;
    let deleted = deleted(connection, kept, "memory", |same| same.facts()).await?;
    let mut known: HashMap<&str, Box<dyn KnownTexts>> = HashMap::new();
    let mut fresh: Vec<Vec<(String, &NewMemory)>> = Vec::new();
    for ((completion, changes), deleted) in kept.iter().zip(&changes).zip(deleted) {
        let user = completion.claimed.user_id.as_str();
        let known = known.entry(user).or_insert_with(|| {
            let mut known = completion.same.facts();
            stored.get(user).into_iter().flatten().for_each(|content| known.add(content));
            known
        });
        fresh.push(sort_out(completion, &changes.again, &mut **known, &*deleted));
    }
    insert(connection, kept, &fresh, now).await?;
    for (changes, fresh) in changes.iter_mut().zip(fresh) {
        changes.created = fresh.into_iter().map(|(id, _)| id).collect();
    }
    Ok(changes)
}

/// What the results say again keeps its row, and with it its id. The rest is deleted.
async fn replace_earlier(
    connection: &mut PgConnection,
    Completion { claimed, results, same, .. }: &Completion,
    now: Timestamp,
) -> Result<MemoryChanges, Error> {
    let mut changes = MemoryChanges::default();
    if claimed.revision == 1 {
        return Ok(changes);
    }
    let user = &claimed.user_id;
    let earlier: Vec<Earlier> =
        query_as!("completion/earlier_memories.sql", user, &claimed.conversation_id, claimed.revision)
            .fetch_all(&mut *connection)
            .await?;
    let said = said_again(
        same.facts(),
        &array(&earlier, |memory| memory.content.as_str()),
        &array(&results.memories, |memory| memory.content.as_str()),
    );
    let mut rows = Vec::new();
    for (place, (memory, said)) in results.memories.iter().zip(&said).enumerate() {
        let Some(before) = said.and_then(|place| earlier.get(place)) else { continue };
        changes.again.insert(place);
        rows.push((before.memory_id.as_str(), memory));
    }
    query!(
        "completion/say_memories_again.sql",
        user,
        claimed.revision,
        now,
        array(&rows, |(id, _)| *id),
        array(&rows, |(_, memory)| memory.content.as_str()),
        array(&rows, |(_, memory)| memory.category.as_str())
    )
    .execute(&mut *connection)
    .await?;
    let unsaid = (0..).zip(&earlier).filter(|(place, _)| !said.contains(&Some(*place)));
    changes.taken_back = unsaid.map(|(_, memory)| memory.memory_id.clone()).collect();
    query!("completion/take_back_memories.sql", user, &changes.taken_back).execute(connection).await?;
    Ok(changes)
}

/// Compares a completion's memories with those that the person has or deleted, and with each other. What is new is known from
/// then on, to the next completion of the same person too.
fn sort_out<'a>(
    completion: &'a Completion,
    again: &HashSet<usize>,
    known: &mut dyn KnownTexts,
    deleted: &dyn KnownTexts,
) -> Vec<(String, &'a NewMemory)> {
    let mut fresh = Vec::new();
    let memories = completion.results.memories.iter().enumerate();
    for (_, memory) in memories.filter(|(place, _)| !again.contains(place)) {
        let is_known = [&*known, deleted].iter().any(|texts| texts.find(&memory.content).is_some());
        if !is_known && again.len() + fresh.len() < PER_CONVERSATION {
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
