//! Idempotency keys of requests that create.

use std::time::Duration;

use db::{Repeat, RequestKey};
use ledger::NewActionItem;
use operations::Pruned;
use records::{ActionItemId, UserId};

use crate::world::World;

fn key(world: &World, fingerprint: u8) -> RequestKey {
    RequestKey {
        user: world.ann.clone(),
        route: "/v1/things".to_owned(),
        key: "n".to_owned(),
        fingerprint: [fingerprint; 32],
    }
}

fn item(id: &str) -> Vec<NewActionItem> {
    vec![NewActionItem {
        id: ActionItemId::new(id),
        description: "Call Tom".to_owned(),
        completed: false,
        due_at: None,
    }]
}

async fn create(world: &World, id: &str) -> Result<usize, db::Error> {
    let ledger = world.ledger.under_key(key(world, 1));
    ledger.create_action_items(&world.ann, &item(id)).await.map(|made| made.len())
}

#[tokio::test]
async fn repeat_returns_running_then_created_ids_then_the_stored_answer() {
    let world = World::new().await;
    let name = key(&world, 1);
    assert_eq!(world.ledger.db().repeat_of(&name).await.unwrap(), None);
    assert_eq!(create(&world, "a").await.unwrap(), 1);
    assert!(matches!(world.ledger.db().repeat_of(&name).await.unwrap(), Some(Repeat::Running(1..=60))));
    assert_eq!(world.ledger.db().repeat_of(&key(&world, 2)).await.unwrap(), Some(Repeat::OtherBody));

    // The process is gone, and its answer with it: the created ids are still known.
    world.run("update request_keys set running_until = now() - interval '1 second'").await;
    assert_eq!(world.ledger.db().repeat_of(&name).await.unwrap(), Some(Repeat::Made(vec!["a".to_owned()])));

    world.ledger.db().store_answer(&name, Some((200, "{}"))).await.unwrap();
    let answered = Some(Repeat::Answered { status: 200, answer: "{}".to_owned() });
    assert_eq!(world.ledger.db().repeat_of(&name).await.unwrap(), answered);
    world.ledger.db().store_answer(&name, Some((200, "another"))).await.unwrap();
    assert_eq!(world.ledger.db().repeat_of(&name).await.unwrap(), answered, "the first answer stays");
}

#[tokio::test]
async fn second_create_under_one_key_creates_nothing() {
    let world = World::new().await;
    assert_eq!(create(&world, "a").await.unwrap(), 1);
    assert!(matches!(create(&world, "b").await, Err(db::Error::Repeated)));
    assert_eq!(world.count("select count(*) from action_items").await, 1);
}

#[tokio::test]
async fn create_that_fails_leaves_its_key_free() {
    let world = World::new().await;
    assert_eq!(world.ledger.create_action_items(&world.ann, &item("a")).await.unwrap().len(), 1);
    assert!(create(&world, "a").await.is_err(), "the id is taken");
    assert_eq!(world.ledger.db().repeat_of(&key(&world, 1)).await.unwrap(), None);
}

#[tokio::test]
async fn key_is_free_and_pruned_after_a_day() {
    let world = World::new().await;
    let a_day_on = "update request_keys set created_at = created_at - interval '24 hours 1 second'";
    assert_eq!(create(&world, "a").await.unwrap(), 1);
    world.ledger.db().store_answer(&key(&world, 1), Some((200, "yesterday's"))).await.unwrap();
    world.run(a_day_on).await;
    assert_eq!(world.ledger.db().repeat_of(&key(&world, 1)).await.unwrap(), None);
    assert_eq!(create(&world, "b").await.unwrap(), 1);
    let again = world.ledger.db().repeat_of(&key(&world, 1)).await.unwrap();
    assert!(matches!(again, Some(Repeat::Running(1..=60))), "and has no answer yet: {again:?}");
    let prune = async || world.prune(Duration::from_secs(30 * 86_400), 100).await;
    assert_eq!(prune().await, Pruned::default(), "not before");
    world.run(a_day_on).await;
    assert_eq!(prune().await, Pruned { requests: 1, ..Pruned::default() });
}

#[tokio::test]
async fn deleting_an_item_removes_the_stored_answers_that_contain_it() {
    let world = World::new().await;
    let name = |user: &UserId, key_of: &str| RequestKey {
        user: user.clone(),
        key: key_of.to_owned(),
        ..key(&world, 1)
    };
    let people = [&world.ann, &world.bob];
    for user in people {
        for id in ["a", "b"] {
            let named = world.ledger.under_key(name(user, id));
            assert_eq!(named.create_action_items(user, &item(id)).await.unwrap().len(), 1);
            world.ledger.db().store_answer(&name(user, id), Some((200, "{}"))).await.unwrap();
        }
    }
    assert!(world.ledger.delete_action_item(&world.ann, &ActionItemId::new("a")).await.unwrap());
    for user in people {
        for id in ["a", "b"] {
            let repeat = world.ledger.db().repeat_of(&name(user, id)).await.unwrap().unwrap();
            let forgotten = matches!(repeat, Repeat::Made(_));
            assert_eq!(forgotten, *user == world.ann && id == "a", "{user} {id}: {repeat:?}");
        }
    }
    // A late answer is not stored.
    world.ledger.db().store_answer(&name(&world.ann, "a"), Some((200, "late"))).await.unwrap();
    let repeat = world.ledger.db().repeat_of(&name(&world.ann, "a")).await.unwrap();
    assert!(matches!(repeat, Some(Repeat::Made(_))), "{repeat:?}");
}
