//! Action items and memories of a completion: compared once more with what is kept, then written.

use job::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{NewItem, Results};
use crate::{
    error::{Doing, Error},
    reminders::Due,
    take::Claimed,
};

/// An action item that a later revision takes back: its words and its date.
pub(super) type TakenBack = (String, Option<Timestamp>);

/// Takes back what an earlier revision extracted and no person has touched since (DECISIONS §4). Answers the action
/// items, so that nobody is told once more of a date that they were told of.
pub(super) async fn take_back_earlier(
    connection: &mut PgConnection,
    claimed: &Claimed,
) -> Result<Vec<TakenBack>, Error> {
    const DOING: &str = "taking back an earlier revision";
    if claimed.revision <= 1 {
        return Ok(Vec::new());
    }
    sqlx::query(
        "delete from memories where user_id = $1 and conversation_id = $2 and revision < $3 \
             and not edited and not reviewed and not manually_added and user_review is null",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(claimed.revision)
    .execute(&mut *connection)
    .await
    .doing(DOING)?;
    sqlx::query_as(
        "delete from action_items where user_id = $1 and conversation_id = $2 and revision < $3 and not by_person \
         returning description, due_at",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(claimed.revision)
    .fetch_all(connection)
    .await
    .doing(DOING)
}

/// What became of a run's action items.
#[derive(Debug, Default)]
pub(super) struct WrittenItems {
    /// The ids of those that were created.
    pub(super) created: Vec<String>,
    /// Whatever has a due date now that it did not have before.
    pub(super) dated: Vec<Due>,
    /// What an earlier revision had made likewise, with the same date.
    pub(super) dated_again: Vec<Due>,
}

/// Writes the new action items that nothing of the last two days, and nothing that a person kept of this very
/// conversation, repeats; and the due dates that older ones take over.
pub(super) async fn write_items(
    connection: &mut PgConnection,
    claimed: &Claimed,
    results: &Results,
    taken_back: &[TakenBack],
    same_task: &(dyn Fn(&str, &str) -> bool + Sync),
    now: Timestamp,
) -> Result<WrittenItems, Error> {
    let mut due_dates = results.due_dates.clone();
    let mut fresh = Vec::new();
    if !results.items.is_empty() {
        let kept = kept_items(connection, claimed, now).await?;
        for item in &results.items {
            match kept.iter().find(|(_, kept)| same_task(kept, &item.description)) {
                Some((id, _)) => due_dates.extend(item.due_at.map(|due| (id.clone(), due))),
                None => fresh.push(item),
            }
        }
    }
    let ids: Vec<String> = fresh.iter().map(|item| thing_id(&ITEMS, claimed, &item.description)).collect();
    if !fresh.is_empty() {
        sqlx::query(
            "insert into action_items (user_id, action_item_id, description, due_at, conversation_id, revision, \
                 created_at, updated_at) \
             select $1, t.id, t.description, t.due_at, $2, $3, $4, $4 \
             from unnest($5::text[], $6::text[], $7::timestamptz[]) t (id, description, due_at) \
             on conflict do nothing",
        )
        .bind(claimed.user_id.as_str())
        .bind(claimed.conversation_id.as_str())
        .bind(claimed.revision)
        .bind(now)
        .bind(&ids)
        .bind(fresh.iter().map(|item| item.description.as_str()).collect::<Vec<_>>())
        .bind(fresh.iter().map(|item| item.due_at).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await
        .doing("writing action items")?;
    }
    let handed_over = hand_over_due_dates(connection, claimed, &due_dates, now).await?;
    let was_told = |item: &NewItem| {
        taken_back.iter().any(|(words, due)| *due == item.due_at && same_task(words, &item.description))
    };
    let (mut dated, mut dated_again) = (handed_over, Vec::new());
    for (id, item) in ids.iter().zip(&fresh) {
        let Some(due_at) = item.due_at else { continue };
        let dues = if was_told(item) { &mut dated_again } else { &mut dated };
        dues.push(Due::of(id, due_at));
    }
    Ok(WrittenItems { created: ids, dated, dated_again })
}

/// (id, description) of what a new item may repeat: of a conversation that is processed again, all that is left of it.
async fn kept_items(
    connection: &mut PgConnection,
    claimed: &Claimed,
    now: Timestamp,
) -> Result<Vec<(String, String)>, Error> {
    sqlx::query_as(
        "(select action_item_id, description from action_items \
             where user_id = $1 and created_at > $2 - interval '2 days' order by created_at desc limit 500) \
         union \
         (select action_item_id, description from action_items where user_id = $1 and conversation_id = $3)",
    )
    .bind(claimed.user_id.as_str())
    .bind(now)
    .bind(claimed.conversation_id.as_str())
    .fetch_all(connection)
    .await
    .doing("reading recent action items")
}

/// A due date heard for an older item is taken over only where that one has none. Answers those that were.
async fn hand_over_due_dates(
    connection: &mut PgConnection,
    claimed: &Claimed,
    due_dates: &[(String, Timestamp)],
    now: Timestamp,
) -> Result<Vec<Due>, Error> {
    if due_dates.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, dues): (Vec<&str>, Vec<Timestamp>) =
        due_dates.iter().map(|(id, due)| (id.as_str(), *due)).unzip();
    let handed_over: Vec<(String, Timestamp)> = sqlx::query_as(
        "update action_items a set due_at = t.due_at, updated_at = $2 \
         from unnest($3::text[], $4::timestamptz[]) t (id, due_at) \
         where a.user_id = $1 and a.action_item_id = t.id and a.due_at is null and not a.completed \
         returning a.action_item_id, a.due_at",
    )
    .bind(claimed.user_id.as_str())
    .bind(now)
    .bind(&ids)
    .bind(&dues)
    .fetch_all(connection)
    .await
    .doing("handing over due dates")?;
    Ok(handed_over.iter().map(|(id, due_at)| Due::of(id, *due_at)).collect())
}

/// Writes the new memories that nothing kept already says. Answers the ids of those that were created.
pub(super) async fn write_memories(
    connection: &mut PgConnection,
    claimed: &Claimed,
    results: &Results,
    same_fact: &(dyn Fn(&str, &str) -> bool + Sync),
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    if results.memories.is_empty() {
        return Ok(Vec::new());
    }
    let kept: Vec<String> = sqlx::query_scalar(
        "select content from memories where user_id = $1 order by created_at desc, memory_id limit 1000",
    )
    .bind(claimed.user_id.as_str())
    .fetch_all(&mut *connection)
    .await
    .doing("reading memories")?;
    let fresh: Vec<_> = results
        .memories
        .iter()
        .filter(|memory| !kept.iter().any(|kept| same_fact(kept, &memory.content)))
        .take(MEMORIES_PER_CONVERSATION)
        .collect();
    let ids: Vec<String> = fresh.iter().map(|memory| thing_id(&MEMORIES, claimed, &memory.content)).collect();
    sqlx::query(
        "insert into memories (user_id, memory_id, content, category, conversation_id, revision, created_at, updated_at) \
         select $1, t.id, t.content, t.category, $2, $3, $4, $4 \
         from unnest($5::text[], $6::text[], $7::text[]) t (id, content, category) on conflict do nothing",
    )
    .bind(claimed.user_id.as_str())
    .bind(claimed.conversation_id.as_str())
    .bind(claimed.revision)
    .bind(now)
    .bind(&ids)
    .bind(fresh.iter().map(|memory| memory.content.as_str()).collect::<Vec<_>>())
    .bind(fresh.iter().map(|memory| memory.category.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .doing("writing memories")?;
    Ok(ids)
}

/// Derived, so that a repeated attempt writes the same row.
fn thing_id(namespace: &Uuid, claimed: &Claimed, words: &str) -> String {
    Uuid::new_v5(namespace, format!("{}\n{words}", claimed.job.id).as_bytes()).to_string()
}

/// At most 4 memories per conversation (spec, "Limits").
const MEMORIES_PER_CONVERSATION: usize = 4;
/// The namespaces of derived ids; part of the durable contract.
const ITEMS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f69_7465_6d73_0000_0000);
const MEMORIES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f6d_656d_6f72_6965_7300);
