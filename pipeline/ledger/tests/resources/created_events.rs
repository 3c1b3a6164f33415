//! Events about action items and memories that a user creates (DECISIONS §6).

use ledger::{NewActionItem, NewPersonMemory};
use outbox::{DeliveryOutcome, DeliveryPolicy};
use records::{ActionItemId, EventKind, MemoryCategory, MemoryId, UserId};

use crate::world::World;

/// Creates action items and memories of `user` with these ids.
pub(crate) async fn create(world: &World, user: &UserId, items: &[&str], memories: &[&str]) {
    let items: Vec<_> = items
        .iter()
        .map(|id| NewActionItem {
            id: ActionItemId::new(*id),
            description: format!("Do {id}"),
            completed: false,
            due_at: None,
        })
        .collect();
    world.ledger.create_action_items(user, &items).await.unwrap();
    let memories: Vec<_> = memories
        .iter()
        .map(|id| NewPersonMemory {
            id: MemoryId::new(*id),
            content: format!("Likes {id}"),
            category: MemoryCategory::Other,
            public: false,
            tags: Vec::new(),
        })
        .collect();
    world.ledger.create_memories(user, &memories).await.unwrap();
}

/// (endpoint, event, subject, status, has a body), in order.
async fn events(world: &World) -> Vec<(String, String, String, String, bool)> {
    world
        .rows(
            "select endpoint_id, event, subject_id, status, body is not null from webhook_deliveries \
         where conversation_id is null order by 1, 2, 3",
        )
        .await
}

#[tokio::test]
async fn created_items_and_memories_are_delivered_to_subscribed_endpoints() {
    let world = World::new().await;
    world.endpoint_for(&world.ann, "both", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    world.endpoint_for(&world.ann, "neither", &[EventKind::ConversationCompleted]).await;
    world.endpoint_for(&world.bob, "bobs", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    create(&world, &world.ann, &["i1", "i2"], &["m1"]).await;
    let deliveries: Vec<_> = events(&world)
        .await
        .into_iter()
        .map(|(endpoint, event, about, ..)| [endpoint, event, about])
        .collect();
    let of = |event: &str, about: &str| ["both".to_owned(), event.to_owned(), about.to_owned()];
    assert_eq!(
        deliveries,
        [of("action_item.created", "i1"), of("action_item.created", "i2"), of("memory.created", "m1")]
    );
}

#[tokio::test]
async fn deleting_an_item_or_memory_removes_its_pending_events_and_bodies() {
    let world = World::new().await;
    world.endpoint_for(&world.ann, "both", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    create(&world, &world.ann, &["i1", "i2", "i3"], &["m1", "m2"]).await;
    world
        .run(
            "update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = now(), body = 'words' \
             where subject_id in ('i2', 'm2')",
        )
        .await;
    for item in ["i1", "i2"] {
        assert!(world.ledger.delete_action_item(&world.ann, &ActionItemId::new(item)).await.unwrap());
    }
    for memory in ["m1", "m2"] {
        assert!(world.ledger.delete_memory(&world.ann, &MemoryId::new(memory)).await.unwrap());
    }
    let left: Vec<_> =
        events(&world).await.into_iter().map(|(_, _, about, status, words)| (about, status, words)).collect();
    let row = |about: &str, status: &str| (about.to_owned(), status.to_owned(), false);
    assert_eq!(left, [row("i2", "exhausted"), row("i3", "pending"), row("m2", "exhausted")]);
}

#[tokio::test]
async fn deliveries_of_a_deleted_extracted_memory_lose_their_body() {
    let world = World::new().await;
    world.endpoint_for(&world.ann, "w", &[EventKind::MemoryCreated]).await;
    world.conversation(&world.ann, "c", "completed", 0).await;
    world
        .run(
            "insert into memories (user_id, memory_id, content, category, created_at, updated_at, conversation_id) \
                 select 'ann', m, 'Likes tea', 'core', now(), now(), 'c' from unnest(array['m1', 'm2']) m; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, subject_id, status, \
                     next_at, occurred_at) \
                 select 'ann', 'w', memory_id, 'memory.created', 'c', memory_id, 'pending', now(), now() from memories",
        )
        .await;
    let policy = DeliveryPolicy { schedule: vec![std::time::Duration::ZERO], ..DeliveryPolicy::default() };
    let claim = async || {
        let mut claimed = world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed;
        claimed.sort_by_key(|one| one.delivery_id.clone());
        claimed
    };
    let claimed = claim().await;
    assert_eq!(claimed.len(), 2);
    let busy =
        |error| DeliveryOutcome::Retry { status: Some(503), error, retry_after: None, jitter_permille: 0 };
    let given_up = DeliveryOutcome::Final { status: Some(400), error: "status" };
    for (one, outcome) in claimed.iter().zip([busy("status"), given_up]) {
        assert!(world.ledger.outbox().keep_body(one, b"Likes tea").await.unwrap());
        assert!(world.ledger.outbox().finish_delivery(one, outcome, &policy).await.unwrap());
    }
    for memory in ["m1", "m2"] {
        assert!(world.ledger.delete_memory(&world.ann, &MemoryId::new(memory)).await.unwrap());
    }
    assert!(claim().await.is_empty(), "the pending delivery is gone with its memory");
    world.ledger.outbox().redeliver(&world.ann, "w", "m2").await.unwrap();
    let again = claim().await;
    assert_eq!(
        (again.len(), again[0].body.as_deref()),
        (1, None),
        "the body of the given-up delivery is gone"
    );
}
