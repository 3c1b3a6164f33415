//! Two concurrent bulk replays: a step of one changes nothing of the other, and a step with an old turn changes
//! nothing at all.

use std::time::Duration;

use job::{FailureCode, JobId, Outcome, Queue};
use ledger::{NamedClaim, Results};
use operations::{JobFilter, ReplayChange, ReplayOrder, ReplayTurn, Stepped};
use sqlx::PgConnection;
use store::UserChange;
use uuid::Uuid;

use crate::world::{World, completion, olga, wanted, worker};

/// Two operations, each over two dead letters of one code, the older first; and the turns of both.
async fn two_operations() -> (World, ReplayTurn, ReplayTurn) {
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
    let one = world.operations().take_replay("p").await.unwrap().unwrap();
    let other = world.operations().take_replay("q").await.unwrap().unwrap();
    assert_ne!(one.operation_id, other.operation_id);
    (world, one, other)
}

/// All rows of the operations other than that of `turn`.
async fn other_operations(world: &World, turn: &ReplayTurn) -> String {
    sqlx::query_scalar(
        "select (select jsonb_agg(to_jsonb(o)) from replay_operations o where operation_id <> $1)::text \
             || (select jsonb_agg(to_jsonb(i) order by position) from replay_items i where operation_id <> $1)::text",
    )
    .bind(&turn.operation_id)
    .fetch_one(&world.pool)
    .await
    .unwrap()
}

/// A session that holds a row lock on the operation of `turn`.
async fn lock_operation(world: &World, turn: &ReplayTurn) -> PgConnection {
    let mut holder = world.database.hold_locks("").await;
    sqlx::query("select from replay_operations where operation_id = $1 for update")
        .bind(&turn.operation_id)
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
        assert_eq!(world.operations().step_replay(&one).await.unwrap(), expected);
    }
    for claimed in world.ledger.claim(&wanted(Queue::Finalization, 9)).await.unwrap().claims {
        world.ledger.complete(&completion(&claimed, Outcome::Kept, Results::default())).await.unwrap();
    }
    assert_eq!(world.operations().step_replay(&one).await.unwrap(), Stepped::Done);
    assert_eq!(other_operations(&world, &one).await, before);
    let view = world.operations().replay_operation(&one.operation_id).await.unwrap().unwrap();
    assert_eq!((view.replayed, view.completed), (2, 2));
    // A step of the second operation touches its own items only.
    let first = other_operations(&world, &other).await;
    assert_eq!(world.operations().step_replay(&other).await.unwrap(), Stepped::Replayed);
    assert_eq!(world.operations().step_replay(&other).await.unwrap(), Stepped::Replayed);
    assert_eq!(other_operations(&world, &other).await, first);
}

#[tokio::test]
async fn replay_is_done_while_another_operations_jobs_still_run() {
    let (world, one, other) = two_operations().await;
    for turn in [&one, &one, &other, &other] {
        assert_eq!(world.operations().step_replay(turn).await.unwrap(), Stepped::Replayed);
    }
    let items = world.operations().replay_items(&one.operation_id, 0, 9).await.unwrap();
    let mut claims = world.ledger.claim(&wanted(Queue::Finalization, 9)).await.unwrap().claims;
    claims.retain(|claimed| items.iter().any(|item| item.job_id == claimed.job.id.as_str()));
    let run = claims.remove(0);
    world.ledger.complete(&completion(&run, Outcome::Kept, Results::default())).await.unwrap();
    // The other operation has items at the same positions: they count neither as finished nor as in flight here.
    assert!(matches!(world.operations().step_replay(&one).await.unwrap(), Stepped::Wait(_)));
    assert!(matches!(world.operations().step_replay(&other).await.unwrap(), Stepped::Wait(_)));
    let completed = async |turn: &ReplayTurn| {
        world.operations().replay_operation(&turn.operation_id).await.unwrap().unwrap().completed
    };
    assert_eq!((completed(&one).await, completed(&other).await), (1, 0));
    world.ledger.complete(&completion(&claims[0], Outcome::Kept, Results::default())).await.unwrap();
    assert_eq!(world.operations().step_replay(&one).await.unwrap(), Stepped::Done);
    assert_eq!(completed(&one).await, 2);
}

#[tokio::test]
async fn change_replay_changes_its_own_operation_only() {
    let (world, one, _) = two_operations().await;
    let before = other_operations(&world, &one).await;
    for change in [ReplayChange::Pause, ReplayChange::Resume, ReplayChange::Cancel] {
        assert_eq!(
            world.operations().change_replay(&one.operation_id, change, &olga()).await.unwrap(),
            Some(true)
        );
    }
    assert_eq!(
        world.operations().change_replay(&one.operation_id, ReplayChange::Cancel, &olga()).await.unwrap(),
        Some(false)
    );
    assert_eq!(other_operations(&world, &one).await, before);
}

#[tokio::test]
async fn leave_replay_needs_the_current_turn_of_a_running_operation() {
    let (world, one, other) = two_operations().await;
    let leased = async || -> i64 {
        world.count("select count(*) from replay_operations where lease_until > clock_timestamp()").await
    };
    let stale = ReplayTurn { epoch: one.epoch - 1, ..one.clone() };
    world.operations().leave_replay(&stale).await.unwrap();
    assert_eq!(leased().await, 2, "an older turn is refused");
    world.operations().leave_replay(&one).await.unwrap();
    assert_eq!(leased().await, 1, "and the other stays leased");
    assert_eq!(world.operations().take_replay("r").await.unwrap().unwrap().operation_id, one.operation_id);
    world.operations().change_replay(&other.operation_id, ReplayChange::Pause, &olga()).await.unwrap();
    let paused = other_operations(&world, &one).await;
    world.operations().leave_replay(&other).await.unwrap();
    assert_eq!(other_operations(&world, &one).await, paused, "a paused operation has no turn");
}

#[tokio::test]
async fn take_replay_skips_paused_and_locked_operations() {
    let (world, one, other) = two_operations().await;
    world.operations().change_replay(&one.operation_id, ReplayChange::Pause, &olga()).await.unwrap();
    world.run("update replay_operations set lease_until = now() - interval '1 second'").await;
    let turn = world.operations().take_replay("r").await.unwrap().unwrap();
    assert_eq!(turn.operation_id, other.operation_id);
    assert_eq!(world.operations().take_replay("r").await.unwrap(), None);
    world.operations().change_replay(&one.operation_id, ReplayChange::Resume, &olga()).await.unwrap();
    world.run("update replay_operations set lease_until = now() - interval '1 second'").await;
    let _holder = lock_operation(&world, &one).await;
    // Lock waits of this statement have no timeout of their own.
    let turn = tokio::time::timeout(Duration::from_secs(10), world.operations().take_replay("r")).await;
    assert_eq!(turn.expect("does not wait for a lock").unwrap().unwrap().operation_id, other.operation_id);
}

#[tokio::test]
async fn follow_replays_tracks_jobs_of_paused_and_cancelled_operations() {
    let (world, one, other) = two_operations().await;
    for turn in [&one, &one, &other] {
        assert_eq!(world.operations().step_replay(turn).await.unwrap(), Stepped::Replayed);
    }
    for (turn, change) in [(&one, ReplayChange::Pause), (&other, ReplayChange::Cancel)] {
        world.operations().change_replay(&turn.operation_id, change, &olga()).await.unwrap();
    }
    let counts = async || {
        let mut counts = Vec::new();
        for turn in [&one, &other] {
            let view = world.operations().replay_operation(&turn.operation_id).await.unwrap().unwrap();
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
    let items = world.operations().replay_items(&one.operation_id, 0, 9).await.unwrap();
    let became: Vec<_> = items.iter().map(|item| (item.status.as_str(), item.result.as_deref())).collect();
    assert_eq!(became, [("died_again", Some("invalid_job")), ("completed", None)]);
}

#[tokio::test]
async fn follow_replays_tracks_a_parked_job_after_its_user_brings_keys() {
    let (world, one, _) = two_operations().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    world.ledger.change_user(&world.ann, &marked).await.unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(world.operations().step_replay(&one).await.unwrap(), Stepped::Replayed);
    }
    let items = async || world.operations().replay_items(&one.operation_id, 0, 9).await.unwrap();
    let with = JobId::from_text(items().await[0].job_id.clone());
    let NamedClaim::Granted { claimed, .. } =
        world.ledger.claim_with_keys(&with, &worker("w")).await.unwrap()
    else {
        panic!("it waits for keys")
    };
    assert_eq!(
        world.operations().step_replay(&one).await.unwrap(),
        Stepped::Done,
        "parked jobs are not waited for"
    );
    let view = async || world.operations().replay_operation(&one.operation_id).await.unwrap().unwrap();
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
