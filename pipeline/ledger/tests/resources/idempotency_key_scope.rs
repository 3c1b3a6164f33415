//! An idempotency key is scoped to one user, one route and one key text; its answer to one body.

use db::{Repeat, RequestKey};
use ledger::NewActionItem;
use records::ActionItemId;

use crate::world::World;

fn key(world: &World) -> RequestKey {
    RequestKey { user: world.ann.clone(), route: "/a".into(), key: "n".into(), fingerprint: [1; 32] }
}

/// The same key with one part changed.
fn others(world: &World) -> [RequestKey; 3] {
    [
        RequestKey { user: world.bob.clone(), ..key(world) },
        RequestKey { route: "/b".into(), ..key(world) },
        RequestKey { key: "m".into(), ..key(world) },
    ]
}

async fn create(world: &World, key: &RequestKey, id: &str) {
    let item = NewActionItem {
        id: ActionItemId::new(id),
        description: "Call Tom".into(),
        completed: false,
        due_at: None,
    };
    world.ledger.under_key(key.clone()).create_action_items(&key.user, &[item]).await.unwrap();
}

#[tokio::test]
async fn same_key_of_another_user_route_or_text_is_another_request() {
    let world = World::new().await;
    create(&world, &key(&world), "first").await;
    for (index, other) in others(&world).iter().enumerate() {
        assert_eq!(world.ledger.db().repeat_of(other).await.unwrap(), None, "{other:?}");
        create(&world, other, &format!("other {index}")).await;
    }
    assert!(world.ledger.db().repeat_of(&key(&world)).await.unwrap().is_some());
}

#[tokio::test]
async fn stored_answer_belongs_to_its_own_request_only() {
    let world = World::new().await;
    create(&world, &key(&world), "first").await;
    for (index, other) in others(&world).iter().enumerate() {
        create(&world, other, &format!("other {index}")).await;
    }
    let another_body = RequestKey { fingerprint: [2; 32], ..key(&world) };
    world.ledger.db().store_answer(&another_body, Some((200, "wrong"))).await.unwrap();
    assert!(matches!(world.ledger.db().repeat_of(&key(&world)).await.unwrap(), Some(Repeat::Running(_))));
    world.ledger.db().store_answer(&key(&world), Some((200, "{}"))).await.unwrap();
    let answered = Some(Repeat::Answered { status: 200, answer: "{}".into() });
    assert_eq!(world.ledger.db().repeat_of(&key(&world)).await.unwrap(), answered);
    for other in others(&world) {
        let running = world.ledger.db().repeat_of(&other).await.unwrap();
        assert!(matches!(running, Some(Repeat::Running(_))), "{other:?}: {running:?}");
    }
}
