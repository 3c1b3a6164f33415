//! Action items that a user creates and changes.

use ledger::{ItemChange, NewActionItem};
use records::{ActionItem, ActionItemId};
use testbed::at_once;

use crate::world::World;

fn new(id: &str) -> NewActionItem {
    NewActionItem {
        id: ActionItemId::new(id),
        description: format!("Do {id}"),
        completed: false,
        due_at: None,
    }
}

async fn change(world: &World, id: &str, change: ItemChange) -> ActionItem {
    world.ledger.change_action_item(&world.ann, &ActionItemId::new(id), &change).await.unwrap().unwrap()
}

fn completion(completed: bool) -> ItemChange {
    ItemChange { completed: Some(completed), ..ItemChange::default() }
}

#[tokio::test]
async fn create_action_items_is_all_or_nothing() {
    let world = World::new().await;
    world.ledger.create_action_items(&world.ann, &[new("taken")]).await.unwrap();
    let batch = [new("a"), new("taken"), new("b")];
    assert!(world.ledger.create_action_items(&world.ann, &batch).await.is_err());
    assert_eq!(world.count("select count(*) from action_items").await, 1);
}

#[tokio::test]
async fn completed_at_is_set_once_and_cleared_by_reopening() {
    let world = World::new().await;
    world.ledger.create_action_items(&world.ann, &[new("a")]).await.unwrap();
    let done = change(&world, "a", completion(true)).await;
    assert_eq!(done.completed_at, Some(done.updated_at));
    let again = change(&world, "a", completion(true)).await;
    assert_eq!(again.completed_at, done.completed_at, "the first time of completion is kept");
    let renamed =
        change(&world, "a", ItemChange { description: Some("Call".into()), ..Default::default() }).await;
    assert_eq!((renamed.completed, renamed.completed_at), (true, done.completed_at));
    let open = change(&world, "a", completion(false)).await;
    assert_eq!((open.completed, open.completed_at, open.description.as_str()), (false, None, "Call"));
}

#[tokio::test]
async fn changed_item_is_marked_by_person_and_other_users_are_refused() {
    let world = World::new().await;
    world.conversation(&world.ann, "c", "completed", 0).await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id, \
                 revision) values ('ann', 'extracted', 'Do it', now(), now(), 'c', 1)",
        )
        .await;
    let id = ActionItemId::new("extracted");
    assert_eq!(world.ledger.change_action_item(&world.bob, &id, &completion(true)).await.unwrap(), None);
    assert!(!world.ledger.delete_action_item(&world.bob, &id).await.unwrap());
    change(&world, "extracted", completion(true)).await;
    assert_eq!(world.count("select count(*) from action_items where by_person").await, 1);
    assert!(world.ledger.delete_action_item(&world.ann, &id).await.unwrap());
    assert!(!world.ledger.delete_action_item(&world.ann, &id).await.unwrap(), "gone already");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_completions_of_an_item_see_one_time() {
    let world = World::new().await;
    let other = world.other_process();
    for round in 0..8 {
        let id = ActionItemId::new(format!("i{round}"));
        world.ledger.create_action_items(&world.ann, &[new(id.as_str())]).await.unwrap();
        let changes = [world.ledger.clone(), other.clone()].map(|ledger| {
            let (id, ann) = (id.clone(), world.ann.clone());
            async move { ledger.change_action_item(&ann, &id, &completion(true)).await.unwrap().unwrap() }
        });
        let changed = at_once(changes).await;
        assert_eq!(changed[0].completed_at, changed[1].completed_at);
    }
}
