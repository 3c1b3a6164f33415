//! What a later revision says again stays the same thing: receivers that mirror tasks had it twice, and links to it broke.

use std::sync::Arc;

use chrono::Duration;
use job::Outcome;
use ledger::{Completion, NewItem, NewMemory, Results, StoredJob};
use records::{ActionItemId, ConversationId, EventKind, MemoryCategory, MemoryId, Timestamp};

use crate::world::World;

/// Says the same in like words: with the same last word.
fn alike(one: &str, other: &str) -> bool {
    one.rsplit(' ').next() == other.rsplit(' ').next()
}

async fn complete(world: &World, claimed: &StoredJob, items: &[(&str, Option<Timestamp>)], facts: &[&str]) {
    let item = |&(words, due_at): &(&str, _)| NewItem { description: words.into(), due_at };
    let fact = |words: &&str| NewMemory { content: (*words).into(), category: MemoryCategory::Core };
    let results = Results {
        items: items.iter().map(item).collect(),
        memories: facts.iter().map(fact).collect(),
        announcements: vec![EventKind::ActionItemCreated, EventKind::MemoryCreated],
        ..Results::default()
    };
    let completion =
        Completion { claimed: claimed.clone(), outcome: Outcome::Kept, results, same: Arc::new(alike) };
    world.ledger.complete(&Arc::new(completion)).await.unwrap();
}

async fn reprocess(world: &World) -> StoredJob {
    let admitted =
        world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap().unwrap();
    world.claim(&admitted.job_id).await
}

async fn first(world: &World, items: &[(&str, Option<Timestamp>)], facts: &[&str]) {
    world.endpoint(&world.ann, "w", EventKind::ALL).await;
    let claimed = world.claimed("c").await;
    complete(world, &claimed, items, facts).await;
    world.run("update action_items set created_at = '2026-01-01'; update memories set created_at = '2026-01-01'").await;
}

/// Words, ids, and whether each is as old as the first revision.
const ITEMS: &str =
    "select description, action_item_id, created_at = '2026-01-01' from action_items order by 1";
const MEMORIES: &str = "select content, memory_id, created_at = '2026-01-01' from memories order by 1";

async fn extracted(world: &World, of: &'static str) -> Vec<(String, String, bool)> {
    world.rows(of).await
}

#[tokio::test]
async fn task_and_memory_that_are_said_again_keep_their_ids_and_are_not_announced_again() {
    let world = World::new().await;
    first(
        &world,
        &[("Call Tom", None), ("Buy milk", None), ("Pay Ben", None)],
        &["Lives in Porto", "Has a cat"],
    )
    .await;
    let before = extracted(&world, ITEMS).await;
    let memories = extracted(&world, MEMORIES).await;

    let claimed = reprocess(&world).await;
    let said = [("Write to Ann", None), ("Ring Tom", None), ("Buy milk", None)];
    complete(&world, &claimed, &said, &["Has a dog", "Now lives in Porto"]).await;

    let after = extracted(&world, ITEMS).await;
    let id = |all: &[(String, String, bool)], words: &str| {
        all.iter().find(|thing| thing.0 == words).map(|thing| (thing.1.clone(), thing.2)).unwrap()
    };
    assert_eq!(id(&after, "Buy milk"), id(&before, "Buy milk"));
    assert_eq!(id(&after, "Ring Tom"), id(&before, "Call Tom"), "in other words");
    assert!(!id(&after, "Write to Ann").1);
    assert_eq!(after.len(), 3, "{after:?}");
    let facts = extracted(&world, MEMORIES).await;
    assert_eq!(id(&facts, "Now lives in Porto"), id(&memories, "Lives in Porto"));
    assert_eq!(facts.len(), 2, "{facts:?}");

    let view = world
        .ledger
        .store()
        .conversation(&world.ann, &ConversationId::new("c"), false)
        .await
        .unwrap()
        .unwrap();
    let shown: Vec<&str> = view.action_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(shown, ["Write to Ann", "Ring Tom", "Buy milk"], "in the order of the new revision");
    let announced = "select count(*) from webhook_deliveries where revision = 2";
    assert_eq!(world.count(announced).await, 2, "the new task and the new memory");
    let left = "select count(*) from webhook_deliveries where revision = 1 and status = 'pending'";
    assert_eq!(world.count(left).await, 3, "those of what is gone are cancelled");
}

/// Two conversations said it, and one row stood for both: deleted, it came back when the other one was processed again.
#[tokio::test]
async fn task_that_was_deleted_does_not_come_back_from_an_older_conversation_that_said_it_too() {
    let world = World::new().await;
    first(&world, &[("Call Tom", None)], &["Lives in Porto"]).await;
    world.run("update action_items set created_at = now()").await;
    let other = world.claimed("d").await;
    complete(&world, &other, &[("Ring Tom", None)], &["Has a flat in Porto"]).await;
    let rows = extracted(&world, ITEMS).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    let item = ActionItemId::new(rows[0].1.as_str());
    assert!(world.ledger.delete_action_item(&world.ann, &item).await.unwrap());
    let memory = MemoryId::new(extracted(&world, MEMORIES).await[0].1.as_str());
    assert!(world.ledger.delete_memory(&world.ann, &memory).await.unwrap());

    let admitted =
        world.ledger.reprocess(&world.ann, &ConversationId::new("d"), None).await.unwrap().unwrap();
    let claimed = world.claim(&admitted.job_id).await;
    complete(&world, &claimed, &[("Ring Tom", None)], &["Has a flat in Porto"]).await;
    assert_eq!(extracted(&world, ITEMS).await.len(), 0);
    assert_eq!(extracted(&world, MEMORIES).await.len(), 0);

    let later = world.claimed("e").await;
    complete(&world, &later, &[("Ring Tom", None)], &[]).await;
    let admitted =
        world.ledger.reprocess(&world.ann, &ConversationId::new("e"), None).await.unwrap().unwrap();
    let claimed = world.claim(&admitted.job_id).await;
    complete(&world, &claimed, &[("Ring Tom", None), ("Write to Tom", None)], &[]).await;
    assert_eq!(extracted(&world, ITEMS).await.len(), 1, "said again since");
}

#[tokio::test]
async fn word_for_word_repeat_is_found_before_a_like_one() {
    let world = World::new().await;
    first(&world, &[("Call Tom", None)], &[]).await;
    let before = extracted(&world, ITEMS).await;
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &[("Write to Tom", None), ("Call Tom", None)], &[]).await;
    let after = extracted(&world, ITEMS).await;
    assert_eq!(after, before, "one like it is no second task");
}

#[tokio::test]
async fn due_date_that_is_said_again_is_pushed_once_and_another_one_anew() {
    let world = World::new().await;
    let now = world.ledger.db().now().await.unwrap();
    let [friday, monday] = [3, 6].map(|days| Some(now + Duration::days(days)));
    let said = [("Call Tom", friday), ("Buy milk", friday), ("Pay Ben", friday)];
    first(&world, &said, &[]).await;
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &[("Ring Tom", friday), ("Buy milk", monday), ("Pay Ben", None)], &[]).await;
    let reminders: Vec<(String, i64, bool)> = world
        .rows(
            "select a.description, r.revision, r.fire_at is not null \
             from reminders r join action_items a using (user_id, action_item_id) order by 1",
        )
        .await;
    let row = |words: &str, revision, awaited| (words.to_owned(), revision, awaited);
    assert_eq!(reminders, [row("Buy milk", 2, true), row("Pay Ben", 1, false), row("Ring Tom", 1, true)]);
    let dues: Vec<Option<Timestamp>> =
        world.list("select due_at from action_items order by description").await;
    assert_eq!(dues, [monday, None, friday]);
}
