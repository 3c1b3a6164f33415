//! Two concurrent bulk replays: a step of one changes nothing of the other.

use job::{FailureCode, JobId, Outcome, Queue};
use ledger::{NamedClaim, Results};
use operations::{JobFilter, ReplayChange, ReplayOrder, Stepped};
use sqlx::PgConnection;
use store::UserChange;
use uuid::Uuid;

use crate::world::{World, completion, olga, wanted, worker};

/// Two operations, each over two dead letters of one code.
async fn two_operations() -> (World, String, String) {
    let world = World::new().await;
    for (number, code) in [(1, FailureCode::InvalidJob), (2, FailureCode::NoContent)] {
        for n in 0..2 {
            world.dead(&format!("c{number}{n}"), code).await;
        }
        let filter = JobFilter { code: Some(code.as_str().into()), ..JobFilter::default() };
        let order = ReplayOrder {
            filter,
            words: "code".into(),
            from_scratch: false,
            per_minute: 60_000,
            in_flight: 10,
        };
        let started =
            world.operations().start_replay(Uuid::from_u128(number), &order, &olga()).await.unwrap();
        assert!(started.is_some_and(|view| view.items == 2));
    }
    (world, Uuid::from_u128(1).to_string(), Uuid::from_u128(2).to_string())
}

async fn step(world: &World, operation: &str) -> Stepped {
    world.operations().step_replay(operation, "p").await.unwrap()
}

/// All rows of the other operations.
async fn other_operations(world: &World, operation: &str) -> String {
    sqlx::query_scalar(
        "select (select jsonb_agg(to_jsonb(o)) from replay_operations o where operation_id <> $1)::text \
             || (select jsonb_agg(to_jsonb(i) order by position) from replay_items i where operation_id <> $1)::text",
    )
    .bind(operation)
    .fetch_one(&world.pool)
    .await
    .unwrap()
}

/// A session that holds a row lock on the operation.
async fn lock_operation(world: &World, operation: &str) -> PgConnection {
    let mut holder = world.database.hold_locks("").await;
    sqlx::query("select from replay_operations where operation_id = $1 for update")
        .bind(operation)
        .execute(&mut holder)
        .await
        .unwrap();
    holder
}

#[tokio::test]
async fn replay_step_changes_its_own_operation_only() {
    let (world, one, other) = two_operations().await;
    let before = other_operations(&world, &one).await;
    for expected in [Stepped::Replayed, Stepped::Replayed] {
        assert_eq!(step(&world, &one).await, expected);
    }
    for claimed in world.ledger.claim(&wanted(Queue::Finalization, 9)).await.unwrap().claims {
        world.ledger.complete(&completion(&claimed, Outcome::Kept, Results::default())).await.unwrap();
    }
    assert_eq!(step(&world, &one).await, Stepped::Done);
    assert_eq!(other_operations(&world, &one).await, before);
    let view = world.operations().replay_operation(&one).await.unwrap().unwrap();
    assert_eq!((view.replayed, view.completed), (2, 2));
    // A step of the second operation touches its own items only.
    let first = other_operations(&world, &other).await;
    assert_eq!(step(&world, &other).await, Stepped::Replayed);
    assert_eq!(step(&world, &other).await, Stepped::Replayed);
    assert_eq!(other_operations(&world, &other).await, first);
}

#[tokio::test]
async fn replay_is_done_while_another_operations_jobs_still_run() {
    let (world, one, other) = two_operations().await;
    for operation in [&one, &one, &other, &other] {
        assert_eq!(step(&world, operation).await, Stepped::Replayed);
    }
    let items = world.operations().replay_items(&one, 0, 9).await.unwrap();
    let mut claims = world.ledger.claim(&wanted(Queue::Finalization, 9)).await.unwrap().claims;
    claims.retain(|claimed| items.iter().any(|item| item.job_id == claimed.job.id.as_str()));
    let run = claims.remove(0);
    world.ledger.complete(&completion(&run, Outcome::Kept, Results::default())).await.unwrap();
    // The other operation has items at the same positions: they count neither as finished nor as in flight here.
    assert_eq!(step(&world, &one).await, Stepped::Waits);
    assert_eq!(step(&world, &other).await, Stepped::Waits);
    let completed = async |operation: &str| {
        world.operations().replay_operation(operation).await.unwrap().unwrap().completed
    };
    assert_eq!((completed(&one).await, completed(&other).await), (1, 0));
    world.ledger.complete(&completion(&claims[0], Outcome::Kept, Results::default())).await.unwrap();
    assert_eq!(step(&world, &one).await, Stepped::Done);
    assert_eq!(completed(&one).await, 2);
}

#[tokio::test]
async fn change_replay_changes_its_own_operation_only() {
    let (world, one, _) = two_operations().await;
    let before = other_operations(&world, &one).await;
    for change in [ReplayChange::Pause, ReplayChange::Resume, ReplayChange::Cancel] {
        assert_eq!(world.operations().change_replay(&one, change, &olga()).await.unwrap(), Some(true));
    }
    assert_eq!(
        world.operations().change_replay(&one, ReplayChange::Cancel, &olga()).await.unwrap(),
        Some(false)
    );
    assert_eq!(other_operations(&world, &one).await, before);
}

#[tokio::test]
async fn running_replays_are_due_in_turn() {
    let (world, one, other) = two_operations().await;
    let due = async |last: &str| world.operations().due_replay(last).await.unwrap();
    assert_eq!(due("").await, Some(one.clone()));
    assert_eq!(due(&one).await, Some(other.clone()));
    assert_eq!(due(&other).await, Some(one.clone()), "from the beginning");
    world.operations().change_replay(&one, ReplayChange::Pause, &olga()).await.unwrap();
    assert_eq!(due(&other).await, Some(other.clone()), "the only one");
}

#[tokio::test]
async fn replay_step_leaves_an_operation_that_another_process_is_at() {
    let (world, one, other) = two_operations().await;
    let _holder = lock_operation(&world, &one).await;
    assert_eq!(step(&world, &one).await, Stepped::Left, "it does not wait for the lock");
    assert_eq!(step(&world, &other).await, Stepped::Replayed);
}

/// A locked item of one replay let the others make a step every four seconds only.
#[tokio::test]
async fn replay_whose_item_is_locked_leaves_the_turn_to_others() {
    let (world, one, other) = two_operations().await;
    let locks = "select from conversations where conversation_id like 'c1%' for update";
    let _holder = world.database.hold_locks(locks).await;
    let error = world.operations().step_replay(&one, "p").await.unwrap_err();
    assert!(error.is_of_one_row(), "{error:?}");
    let due = world.operations().due_replay("").await.unwrap();
    assert_eq!(due, Some(other.clone()), "the other is the only one that is due");
    assert_eq!(step(&world, &other).await, Stepped::Replayed);
    assert_eq!(world.operations().due_replay(&other).await.unwrap(), Some(other.clone()));
}

#[tokio::test]
async fn follow_replays_tracks_jobs_of_paused_and_cancelled_operations() {
    let (world, one, other) = two_operations().await;
    for operation in [&one, &one, &other] {
        assert_eq!(step(&world, operation).await, Stepped::Replayed);
    }
    for (operation, change) in [(&one, ReplayChange::Pause), (&other, ReplayChange::Cancel)] {
        world.operations().change_replay(operation, change, &olga()).await.unwrap();
    }
    let counts = async || {
        let mut counts = Vec::new();
        for operation in [&one, &other] {
            let view = world.operations().replay_operation(operation).await.unwrap().unwrap();
            counts.push((view.completed, view.died_again, view.unfinished(), view.waiting()));
        }
        counts
    };
    world.operations().follow_replays(false).await.unwrap();
    assert_eq!(counts().await, [(0, 0, 2, 0), (0, 0, 1, 1)], "they run");
    let mut claims = world.ledger.claim(&wanted(Queue::Finalization, 9)).await.unwrap().claims;
    claims.sort_by_key(|run| run.conversation_id.as_str().to_owned());
    world.fail(&claims[0], FailureCode::InvalidJob).await;
    for run in &claims[1..] {
        world.ledger.complete(&completion(run, Outcome::Kept, Results::default())).await.unwrap();
    }
    let mut holder = lock_operation(&world, &one).await;
    world.operations().follow_replays(false).await.unwrap();
    assert_eq!(counts().await, [(0, 0, 2, 0), (1, 0, 0, 1)], "a locked operation is skipped");
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    for _ in 0..2 {
        world.operations().follow_replays(false).await.unwrap();
        assert_eq!(counts().await, [(1, 1, 0, 0), (1, 0, 0, 1)]);
    }
    let items = world.operations().replay_items(&one, 0, 9).await.unwrap();
    let became: Vec<_> = items.iter().map(|item| (item.status.as_str(), item.result.as_deref())).collect();
    assert_eq!(became, [("died_again", Some("invalid_job")), ("completed", None)]);
}

#[tokio::test]
async fn follow_replays_tracks_a_parked_job_after_its_user_brings_keys() {
    let (world, one, _) = two_operations().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    world.ledger.change_user(&world.ann, &marked).await.unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(step(&world, &one).await, Stepped::Replayed);
    }
    let items = async || world.operations().replay_items(&one, 0, 9).await.unwrap();
    let with = JobId::from_text(items().await[0].job_id.clone());
    let NamedClaim::Granted { claimed, .. } =
        world.ledger.claim_with_keys(&with, &worker("w")).await.unwrap()
    else {
        panic!("it waits for keys")
    };
    assert_eq!(step(&world, &one).await, Stepped::Done, "parked jobs are not waited for");
    let view = async || world.operations().replay_operation(&one).await.unwrap().unwrap();
    let parked = view().await;
    assert_eq!((parked.parked, parked.unfinished()), (2, 0));
    let without = items().await.remove(1);
    for look in [true, false] {
        world.operations().follow_replays(look).await.unwrap();
        assert_eq!(view().await, parked, "one runs, and one waits");
    }
    world.ledger.complete(&completion(&claimed, Outcome::Kept, Results::default())).await.unwrap();
    world.operations().follow_replays(false).await.unwrap();
    assert_eq!(view().await, parked, "parked jobs are not checked every time");
    world.operations().follow_replays(true).await.unwrap();
    let completed = view().await;
    assert_eq!((completed.parked, completed.completed, completed.died_again), (1, 1, 0));
    assert_eq!(items().await[1], without, "the other was not touched");
}
