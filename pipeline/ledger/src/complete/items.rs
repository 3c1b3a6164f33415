//! Action items of completions: compared once more with what is kept, then written.

use std::collections::HashMap;

use db::{Error, array, query, query_as};
use job::Timestamp;
use outbox::reminders::{Due, lock_subscriptions};
use records::KnownTexts;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Completion, NewItem, deleted, grouped, thing_id};

/// The namespace of derived ids; part of the durable contract.
const ITEMS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f69_7465_6d73_0000_0000);

/// An action item that a later revision takes back.
#[derive(Clone, sqlx::FromRow)]
struct TakenBack {
    action_item_id: String,
    description: String,
    due_at: Option<Timestamp>,
}

/// What became of a completion's items.
#[derive(Debug, Default)]
pub(super) struct ItemChanges {
    /// The ids of those that were created.
    pub(super) created: Vec<String>,
    /// Whatever has a due date now that it did not have before.
    pub(super) dated: Vec<Due>,
    /// What an earlier revision had made likewise, with the same date.
    pub(super) dated_again: Vec<Due>,
    /// The ids of those that were taken back.
    pub(super) taken_back: Vec<String>,
}

/// Writes the new action items that nothing of the person's last two days, and nothing that a person kept or deleted of the
/// very conversation, repeats; and the due dates that older ones take over. Answers what became of each completion's.
pub(super) async fn write(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<Vec<ItemChanges>, Error> {
    // What an earlier revision extracted and no user has changed since (DECISIONS §4) is taken back, and remembered here, so that
    // no reminder is sent twice for one date.
    let mut taken_back: Vec<Vec<TakenBack>> = vec![Vec::new(); kept.len()];
    let claims = kept.iter().map(|completion| &completion.claimed).zip(&mut taken_back);
    for (claimed, taken_back) in claims.filter(|(claimed, _)| claimed.revision > 1) {
        // Their pushes go with them.
        lock_subscriptions(connection, &claimed.user_id).await?;
        *taken_back = query_as!(
            "completion/take_back_items.sql",
            &claimed.user_id,
            &claimed.conversation_id,
            claimed.revision
        )
        .fetch_all(&mut *connection)
        .await?;
    }
    let mut recent = recent(connection, kept, now).await?;
    let deleted = deleted(connection, kept, "action_item", |same| same.tasks()).await?;
    let mut known: HashMap<&str, Known> = HashMap::new();
    let mut sorted: Vec<Sorted<'_>> = Vec::new();
    for (completion, deleted) in kept.iter().zip(deleted) {
        let user = completion.claimed.user_id.as_str();
        let known = known
            .entry(user)
            .or_insert_with(|| Known::of(completion, recent.remove(user).unwrap_or_default()));
        sorted.push(sort_out(completion, known, &*deleted));
    }
    insert(connection, kept, &sorted, now).await?;
    let mut handed_over = hand_over_due_dates(connection, kept, &sorted, now).await?;
    let written = |((completion, sorted), taken_back): ((&&Completion, Sorted<'_>), Vec<TakenBack>)| {
        let older = handed_over.remove(completion.claimed.user_id.as_str()).unwrap_or_default();
        written(completion, sorted, taken_back, older)
    };
    Ok(kept.iter().zip(sorted).zip(taken_back).map(written).collect())
}

fn written(
    completion: &Completion,
    sorted: Sorted<'_>,
    taken_back: Vec<TakenBack>,
    handed_over: Vec<Due>,
) -> ItemChanges {
    let mut written = ItemChanges { dated: handed_over, ..ItemChanges::default() };
    let mut entries: HashMap<Timestamp, Box<dyn KnownTexts>> = HashMap::new();
    for item in &taken_back {
        if let Some(due) = item.due_at {
            entries.entry(due).or_insert_with(|| completion.same.tasks()).add(&item.description);
        }
    }
    for (id, item, _) in sorted.fresh {
        if let Some(due_at) = item.due_at {
            let was_told =
                entries.get(&due_at).is_some_and(|entries| entries.find(&item.description).is_some());
            let dues = if was_told { &mut written.dated_again } else { &mut written.dated };
            dues.push(Due::of(&id, due_at));
        }
        written.created.push(id);
    }
    written.taken_back = taken_back.into_iter().map(|item| item.action_item_id).collect();
    written
}

/// What becomes of a completion's items.
struct Sorted<'a> {
    /// To be created, with their ids and their places among all that were said.
    fresh: Vec<(String, &'a NewItem, i32)>,
    /// (id, due date) for older items, which take it over where they have none.
    due_dates: Vec<(String, Timestamp)>,
}

/// The items that a person has, by what they say.
struct Known {
    ids: Vec<String>,
    descriptions: Box<dyn KnownTexts>,
}

impl Known {
    /// Those that are `stored`, compared as `completion` says.
    fn of(completion: &Completion, stored: Vec<KnownItem>) -> Self {
        let mut known = Self { ids: Vec::new(), descriptions: completion.same.tasks() };
        stored.into_iter().for_each(|item| known.add(item.action_item_id, &item.description));
        known
    }

    fn add(&mut self, id: String, description: &str) {
        self.ids.push(id);
        self.descriptions.add(description);
    }

    /// The id of the first that says the same.
    fn find(&self, description: &str) -> Option<&String> {
        self.ids.get(self.descriptions.find(description)?)
    }
}

/// Compares a completion's items with those that the person has, with those that the person deleted, and with each other. What is
/// new is known from then on, to the next completion of the same person too.
fn sort_out<'a>(completion: &'a Completion, known: &mut Known, deleted: &dyn KnownTexts) -> Sorted<'a> {
    let mut sorted = Sorted { fresh: Vec::new(), due_dates: completion.results.due_dates.clone() };
    for (position, item) in (0_i32..).zip(&completion.results.items) {
        match known.find(&item.description) {
            Some(id) => sorted.due_dates.extend(item.due_at.map(|due| (id.clone(), due))),
            None if deleted.find(&item.description).is_some() => {}
            None => {
                let id = thing_id(&ITEMS, completion, &item.description);
                known.add(id.clone(), &item.description);
                sorted.fresh.push((id, item, position));
            }
        }
    }
    sorted
}

#[derive(sqlx::FromRow)]
struct KnownItem {
    user_id: String,
    action_item_id: String,
    description: String,
}

/// By person, the last two days' items and what is left of the conversations themselves.
async fn recent(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<HashMap<String, Vec<KnownItem>>, Error> {
    let people = super::people_with(kept, |results| !results.items.is_empty());
    if people.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<KnownItem> = query_as!(
        "completion/known_items.sql",
        &people,
        now,
        array(kept, |completion| completion.claimed.user_id.as_str()),
        array(kept, |completion| completion.claimed.conversation_id.as_str())
    )
    .fetch_all(connection)
    .await?;
    Ok(grouped(rows.into_iter().map(|item| (item.user_id.clone(), item))))
}

async fn insert(
    connection: &mut PgConnection,
    kept: &[&Completion],
    sorted: &[Sorted<'_>],
    now: Timestamp,
) -> Result<(), Error> {
    let mut rows = Vec::new();
    for (completion, sorted) in kept.iter().zip(sorted) {
        rows.extend(
            sorted.fresh.iter().map(|(id, item, position)| (&completion.claimed, id, *item, *position)),
        );
    }
    if rows.is_empty() {
        return Ok(());
    }
    query!(
        "completion/insert_items.sql",
        now,
        array(&rows, |(claimed, ..)| claimed.user_id.as_str()),
        array(&rows, |(claimed, ..)| claimed.conversation_id.as_str()),
        array(&rows, |(claimed, ..)| claimed.revision),
        array(&rows, |(_, id, ..)| id.as_str()),
        array(&rows, |(.., item, _)| item.description.as_str()),
        array(&rows, |(.., item, _)| item.due_at),
        array(&rows, |(.., position)| *position)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A due date heard for an older item is taken over only where that one has none, and was not changed by its user since an earlier
/// revision of this very conversation was admitted. Answers those that were, by person.
async fn hand_over_due_dates(
    connection: &mut PgConnection,
    kept: &[&Completion],
    sorted: &[Sorted<'_>],
    now: Timestamp,
) -> Result<HashMap<String, Vec<Due>>, Error> {
    let mut due_dates = Vec::new();
    for (completion, sorted) in kept.iter().zip(sorted) {
        due_dates.extend(sorted.due_dates.iter().map(|(id, due)| (&completion.claimed, id, *due)));
    }
    if due_dates.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<Dated> = query_as!(
        "completion/date_items.sql",
        now,
        array(&due_dates, |(claimed, ..)| claimed.user_id.as_str()),
        array(&due_dates, |(claimed, ..)| claimed.conversation_id.as_str()),
        array(&due_dates, |(claimed, ..)| claimed.revision),
        array(&due_dates, |(_, id, _)| id.as_str()),
        array(&due_dates, |(.., due)| *due)
    )
    .fetch_all(connection)
    .await?;
    Ok(grouped(
        rows.into_iter().map(|row| (row.user_id, Due { item: row.action_item_id, due_at: row.due_at })),
    ))
}

#[derive(sqlx::FromRow)]
struct Dated {
    user_id: String,
    action_item_id: String,
    due_at: Timestamp,
}
