//! Action items of completions: compared once more with what is kept, then written.

use std::collections::{HashMap, HashSet};

use db::{Error, array, query, query_as};
use job::Timestamp;
use outbox::reminders::{Due, lock_subscriptions};
use records::KnownTexts;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Completion, NewItem, deleted, grouped, said_again, thing_id};

/// The namespace of derived ids; part of the durable contract.
const ITEMS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f69_7465_6d73_0000_0000);

/// An action item of an earlier revision.
#[derive(sqlx::FromRow)]
struct Earlier {
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
    /// The ids of those that have no due date any more.
    pub(super) undated: Vec<String>,
    /// The ids of those that were taken back.
    pub(super) taken_back: Vec<String>,
    /// The positions of results that are there already: an earlier revision said them, too.
    again: HashSet<i32>,
}

/// Replaces what earlier revisions extracted and no user has changed since (DECISIONS §4), and writes the new action items that
/// nothing of the person's last two days, and nothing that a person kept or deleted of the very conversation, repeats; and the due
/// dates that older ones take over. Answers what became of each completion's.
pub(super) async fn write(
    connection: &mut PgConnection,
    kept: &[&Completion],
    now: Timestamp,
) -> Result<Vec<ItemChanges>, Error> {
    let mut changes = Vec::new();
    for completion in kept {
        changes.push(replace_earlier(connection, completion, now).await?);
    }
    let mut recent = recent(connection, kept, now).await?;
    let deleted = deleted(connection, kept, "action_item", |same| same.tasks()).await?;
    let mut known: HashMap<&str, Known> = HashMap::new();
    let mut sorted: Vec<Sorted<'_>> = Vec::new();
    for ((completion, changes), deleted) in kept.iter().zip(&changes).zip(deleted) {
        let user = completion.claimed.user_id.as_str();
        let known = known
            .entry(user)
            .or_insert_with(|| Known::of(completion, recent.remove(user).unwrap_or_default()));
        sorted.push(sort_out(completion, &changes.again, known, &*deleted));
    }
    insert(connection, kept, &sorted, now).await?;
    let mut handed_over = hand_over_due_dates(connection, kept, &sorted, now).await?;
    for ((completion, sorted), changes) in kept.iter().zip(sorted).zip(&mut changes) {
        changes.dated.extend(handed_over.remove(completion.claimed.user_id.as_str()).unwrap_or_default());
        for (id, item, _) in sorted.fresh {
            changes.dated.extend(item.due_at.map(|due_at| Due::of(&id, due_at)));
            changes.created.push(id);
        }
    }
    Ok(changes)
}

/// What the results say again keeps its row, and with it its id and the reminders of a date that did not change. The rest is deleted.
async fn replace_earlier(
    connection: &mut PgConnection,
    Completion { claimed, results, same, .. }: &Completion,
    now: Timestamp,
) -> Result<ItemChanges, Error> {
    let mut changes = ItemChanges::default();
    if claimed.revision == 1 {
        return Ok(changes);
    }
    let user = &claimed.user_id;
    // Pushes go with their items.
    lock_subscriptions(connection, user).await?;
    let earlier: Vec<Earlier> =
        query_as!("completion/earlier_items.sql", user, &claimed.conversation_id, claimed.revision)
            .fetch_all(&mut *connection)
            .await?;
    let said = said_again(
        same.tasks(),
        &array(&earlier, |item| item.description.as_str()),
        &array(&results.items, |item| item.description.as_str()),
    );
    let mut rows = Vec::new();
    for (position, (item, said)) in (0_i32..).zip(results.items.iter().zip(&said)) {
        let Some(before) = said.and_then(|place| earlier.get(place)) else { continue };
        match item.due_at {
            Some(due_at) if before.due_at != item.due_at => {
                changes.dated.push(Due::of(&before.action_item_id, due_at));
            }
            None if before.due_at.is_some() => changes.undated.push(before.action_item_id.clone()),
            _ => {}
        }
        changes.again.insert(position);
        rows.push((before, item, position));
    }
    query!(
        "completion/say_items_again.sql",
        user,
        claimed.revision,
        now,
        array(&rows, |(before, ..)| before.action_item_id.as_str()),
        array(&rows, |(_, item, _)| item.description.as_str()),
        array(&rows, |(_, item, _)| item.due_at),
        array(&rows, |(.., position)| *position)
    )
    .execute(&mut *connection)
    .await?;
    let unsaid = (0..).zip(earlier).filter(|(place, _)| !said.contains(&Some(*place)));
    changes.taken_back = unsaid.map(|(_, item)| item.action_item_id).collect();
    query!("completion/take_back_items.sql", user, &changes.taken_back).execute(connection).await?;
    Ok(changes)
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
fn sort_out<'a>(
    completion: &'a Completion,
    again: &HashSet<i32>,
    known: &mut Known,
    deleted: &dyn KnownTexts,
) -> Sorted<'a> {
    let mut sorted = Sorted { fresh: Vec::new(), due_dates: completion.results.due_dates.clone() };
    let items = (0_i32..).zip(&completion.results.items);
    for (position, item) in items.filter(|(position, _)| !again.contains(position)) {
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
