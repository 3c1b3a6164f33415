//! Changes by an assistant's turn: made while the process holds the turn's lease, or refused.

use std::time::Duration;

use db::{Error, TurnLease};
use ledger::{ItemChange, NewActionItem, NewPersonMemory};
use records::{ActionItemId, GoalId, MemoryCategory, MemoryId};
use store::{BegunTurn, NewTurn};

use crate::world::World;

fn message() -> NewTurn {
    NewTurn {
        thread: "main".to_owned(),
        app_id: None,
        request_id: None,
        question_id: "0199c0de-0000-7000-8000-00000000000a".to_owned(),
        reply_id: "0199c0de-0000-7000-8000-00000000000b".to_owned(),
        text: "Remind me".to_owned(),
        lease: Duration::from_secs(20),
    }
}

/// A world where Ann has a goal, an item and a running turn.
async fn with_turn() -> (World, TurnLease) {
    let world = World::new().await;
    world
        .run(
            "insert into goals (user_id, goal_id, title, target_value, is_active, created_at, updated_at) \
                 values ('ann', 'g', 'Read', 9, true, now(), now()); \
             insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
                 values ('ann', 'old', 'Old', now(), now())",
        )
        .await;
    let new = message();
    let begun = world.ledger.store().begin_turn(&world.ann, &new).await.unwrap();
    assert!(matches!(begun, BegunTurn::Begun(_)));
    let lease = TurnLease { user: world.ann.clone(), reply_id: new.reply_id, lease: new.lease };
    (world, lease)
}

/// Tries every change that a tool makes; returns whether each was made.
async fn changes(world: &World, turn: &TurnLease) -> Vec<bool> {
    let (ledger, user) = (world.ledger.in_turn(turn.clone()), &world.ann);
    let item = NewActionItem {
        id: ActionItemId::new("new"),
        description: "Call Tom".to_owned(),
        completed: false,
        due_at: None,
    };
    let memory = NewPersonMemory {
        id: MemoryId::new("new"),
        content: "Likes tea".to_owned(),
        category: MemoryCategory::Other,
        public: false,
        tags: Vec::new(),
    };
    let done = ItemChange { completed: Some(true), ..ItemChange::default() };
    let outcomes = [
        ledger.create_action_items(user, &[item]).await.map(drop),
        ledger.change_action_item(user, &ActionItemId::new("old"), &done).await.map(drop),
        ledger.create_memories(user, &[memory]).await.map(drop),
        ledger.store().set_goal_progress(user, &GoalId::new("g"), 7.0).await.map(drop),
    ];
    outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Ok(()) => true,
            Err(Error::TurnLost) => false,
            Err(error) => panic!("{error:?}"),
        })
        .collect()
}

const CHANGED: &str = "select (select count(*) from action_items where action_item_id = 'new' or completed) \
    + (select count(*) from memories) + (select count(*) from goals where current_value = 7)";

#[tokio::test]
async fn change_renews_the_lease_of_its_turn() {
    let (world, turn) = with_turn().await;
    world.run("update chat_turns set running_until = clock_timestamp() + interval '9 seconds'").await;
    assert_eq!(changes(&world, &turn).await, [true; 4]);
    assert_eq!(world.count(CHANGED).await, 4);
    let renewed =
        "select count(*) from chat_turns where running_until > clock_timestamp() + interval '9 seconds'";
    assert_eq!(world.count(renewed).await, 1);
}

#[tokio::test]
async fn changes_are_refused_after_the_turn_was_lost() {
    let (world, turn) = with_turn().await;
    world.run("update chat_turns set running_until = clock_timestamp()").await;
    assert_eq!(changes(&world, &turn).await, [false; 4]);
    assert!(!world.ledger.store().hold_turn(&turn).await.unwrap());
    let left = "select count(*) from chat_turns where running_until > clock_timestamp()";
    assert_eq!(world.count(left).await, 0, "a lease that ran out is not renewed");
    world.run("update chat_turns set running_until = 'infinity', status = 'failed'").await;
    assert_eq!(changes(&world, &turn).await, [false; 4], "another message ended the turn");
    let of_bob = TurnLease { user: world.bob.clone(), ..turn };
    world.run("update chat_turns set status = 'running'").await;
    assert_eq!(changes(&world, &of_bob).await, [false; 4], "a turn belongs to one user");
    assert_eq!(world.count(CHANGED).await, 0);
}

#[tokio::test]
async fn no_turn_begins_in_a_thread_while_a_change_is_uncommitted() {
    let (world, turn) = with_turn().await;
    // A session is open already when the lease of two seconds begins.
    world.ledger.db().now().await.unwrap();
    world.run("update chat_turns set running_until = clock_timestamp() + interval '2 seconds'").await;
    let (change, _) = world.ledger.db().in_turn(turn).begin().await.unwrap();
    // Other sessions see the lease run out.
    world.run("select pg_sleep(2.1)").await;
    let next = NewTurn {
        question_id: "0199c0de-0000-7000-8000-00000000000c".to_owned(),
        reply_id: "0199c0de-0000-7000-8000-00000000000d".to_owned(),
        ..message()
    };
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let next = tokio::spawn(async move { ledger.store().begin_turn(&ann, &next).await });
    let waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while world.count(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    change.commit().await.unwrap();
    assert!(matches!(next.await.unwrap().unwrap(), BegunTurn::Busy(_)), "the change renewed the lease");
}

/// More messages than one transaction removes; those of another thread and of another user stay.
#[tokio::test]
async fn clear_chat_ends_however_long_the_chat_is() {
    let world = World::new().await;
    world.database.seed(&["insert into chat_messages (user_id, thread, message_id, created_at, sender, text) \
         select u, thread, gen_random_uuid(), now() - n * interval '1 minute', 'ai', 'Hello' \
         from generate_series(1, 2500) n, (values ('ann', 'main'), ('ann', 'other'), ('bob', 'main')) t (u, thread)"]).await;
    assert_eq!(world.ledger.store().clear_chat(&world.ann, "main").await.unwrap(), None);
    assert_eq!(
        world.count("select count(*) from chat_messages where user_id = 'ann' and thread = 'main'").await,
        0
    );
    assert_eq!(world.count("select count(*) from chat_messages").await, 5_000);
}
