//! Lists of action items and memories.

use db::Error;
use records::ConversationId;
use store::{DatePage, ItemFilter, MemoryFilter};

use crate::world::{World, nine};

async fn with_items() -> World {
    let world = World::new().await;
    world.conversation(&world.ann, "c1", "completed", 0).await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, completed, \
                 completed_at, conversation_id) \
             select case when n = 4 then 'bob' else 'ann' end, 'i' || n, 'Do ' || n, at, at, n = 2, \
                 case when n = 2 then at end, case when n = 1 then 'c1' end \
             from (select n, timestamptz '2026-03-02T09:00:00Z' + n / 2 * interval '1 minute' as at \
                 from generate_series(0, 4) n) s",
        )
        .await;
    world
}

async fn ids(world: &World, filter: ItemFilter) -> Vec<String> {
    let items = world.ledger.store().action_items(&world.ann, &filter).await.unwrap();
    items.into_iter().map(|item| item.id.as_str().to_owned()).collect()
}

fn page(limit: i64) -> DatePage {
    DatePage { limit, ..DatePage::default() }
}

#[tokio::test]
async fn action_items_are_listed_newest_first_then_by_id_for_one_user() {
    let world = with_items().await;
    assert_eq!(
        ids(&world, ItemFilter { page: page(9), ..Default::default() }).await,
        ["i2", "i3", "i0", "i1"]
    );
    let second = DatePage { offset: 1, ..page(2) };
    assert_eq!(ids(&world, ItemFilter { page: second, ..Default::default() }).await, ["i3", "i0"]);
}

#[tokio::test]
async fn action_items_are_filtered_by_date_state_and_conversation() {
    let world = with_items().await;
    let until = DatePage { end: Some(nine(0)), ..page(9) };
    assert_eq!(ids(&world, ItemFilter { page: until, ..Default::default() }).await, ["i0", "i1"]);
    let from = DatePage { start: Some(nine(1)), ..page(9) };
    assert_eq!(ids(&world, ItemFilter { page: from, ..Default::default() }).await, ["i2", "i3"], "inclusive");
    let done = ItemFilter { page: page(9), completed: Some(true), ..Default::default() };
    assert_eq!(ids(&world, done).await, ["i2"]);
    let of =
        ItemFilter { page: page(9), conversation_id: Some(ConversationId::new("c1")), ..Default::default() };
    assert_eq!(ids(&world, of).await, ["i1"]);
}

#[tokio::test]
async fn unknown_memory_category_is_refused_by_its_column() {
    let world = World::new().await;
    world
        .run(
            "alter table memories drop constraint memory_category_known; \
             insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
             values ('ann', 'm', 'Private words', 'astrology', now(), now())",
        )
        .await;
    let error = world
        .ledger
        .store()
        .memories(&world.ann, &MemoryFilter { limit: 1, ..Default::default() })
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Refused { .. }) && error.to_string().contains("category"), "{error}");
    assert!(!error.to_string().contains("Private words"));
}
