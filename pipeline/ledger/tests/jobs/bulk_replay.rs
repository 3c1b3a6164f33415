//! Bulk replay: each item is replayed once, whichever process works on it or dies.

use chrono::Duration;
use job::{FailureCode, JobId, Outcome, Queue, State, Timestamp};
use ledger::{Operation, Results};
use operations::{JobFilter, Operations, ReplayChange, ReplayOrder, ReplayView, Stepped};
use testbed::at_once;
use uuid::Uuid;

use crate::world::{REPLAY, World, completion, olga, wanted};

fn order(per_minute: i32, in_flight: i32) -> ReplayOrder {
    let filter = JobFilter { code: Some("invalid_job".into()), ..JobFilter::default() };
    ReplayOrder { filter, words: "code invalid_job".into(), from_scratch: false, per_minute, in_flight }
}

const OPERATION: Uuid = Uuid::from_u128(7);

async fn started(world: &World, order: &ReplayOrder) -> ReplayView {
    world
        .operations()
        .start_replay(OPERATION, order, &olga())
        .await
        .unwrap()
        .expect("some are to be replayed")
}

async fn dead_letters(world: &World, count: usize) -> Vec<JobId> {
    let mut dead = Vec::new();
    for n in 0..count {
        dead.push(world.dead(&format!("c{n}"), FailureCode::InvalidJob).await);
    }
    dead
}

async fn step(world: &World) -> Stepped {
    world.operations().step_replay(&OPERATION.to_string(), "p").await.unwrap()
}

async fn view(world: &World) -> ReplayView {
    world.operations().replay_operation(&OPERATION.to_string()).await.unwrap().unwrap()
}

/// Claims and completes all replayed jobs.
async fn complete_all(world: &World) {
    for claimed in world.ledger.claim(&wanted(Queue::Finalization, 50)).await.unwrap().claims {
        world.ledger.complete(&completion(&claimed, Outcome::Kept, Results::default())).await.unwrap();
    }
}

#[tokio::test]
async fn bulk_replay_ends_with_a_result_for_each_item() {
    let world = World::new().await;
    let dead = dead_letters(&world, 3).await;
    world.dead("another cause", FailureCode::NoContent).await;
    let preview = world.operations().preview_replay(&order(1, 1).filter).await.unwrap();
    assert_eq!((preview.jobs, preview.users), (3, 1));
    assert_eq!((preview.recent_jobs, preview.recent_calls), (0, 0), "no job was completed yet");
    assert_eq!(started(&world, &order(60_000, 10)).await.items, 3);
    // Another operator replays the second one first, and the third conversation is deleted.
    world.operate(&dead[1], REPLAY).await.unwrap();
    world.ledger.delete_conversation(&world.ann, &records::ConversationId::new("c2")).await.unwrap();

    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.push(step(&world).await);
    }
    // One is unfinished.
    assert_eq!(steps, [Stepped::Replayed, Stepped::Refused, Stepped::Refused, Stepped::Waits]);
    complete_all(&world).await;
    assert_eq!(step(&world).await, Stepped::Done);

    let view = view(&world).await;
    assert_eq!((view.status.as_str(), view.completed, view.refused), ("done", 1, 2));
    let items = world.operations().replay_items(&OPERATION.to_string(), 0, 10).await.unwrap();
    let results: Vec<(&str, Option<&str>)> =
        items.iter().map(|item| (item.status.as_str(), item.result.as_deref())).collect();
    assert_eq!(
        results,
        [("completed", None), ("refused", Some("changed")), ("refused", Some("conversation_gone"))]
    );
    assert_eq!(world.count("select count(*) from operator_actions where action = 'bulk_replay'").await, 1);
}

#[tokio::test]
async fn bulk_replay_leaves_out_what_an_operator_dismisses_while_it_waits() {
    let world = World::new().await;
    let dead = dead_letters(&world, 1).await;
    started(&world, &order(60_000, 10)).await;
    world.operate(&dead[0], Operation::Discard).await.unwrap();
    assert_eq!(step(&world).await, Stepped::Refused);
    let items = world.operations().replay_items(&OPERATION.to_string(), 0, 9).await.unwrap();
    assert_eq!(items[0].result.as_deref(), Some("dismissed"));
    let view = world.view(&dead[0]).await;
    assert_eq!((view.job.state.status(), view.job.settled_at.is_some()), ("dead_letter", true));
    assert_eq!(world.count("select count(*) from operator_actions where action = 'replay'").await, 0);
}

#[tokio::test]
async fn start_replay_is_idempotent_by_operation_id() {
    let world = World::new().await;
    dead_letters(&world, 2).await;
    let first = started(&world, &order(60, 1)).await;
    assert_eq!(started(&world, &order(60, 1)).await.operation_id, first.operation_id);
    assert_eq!(world.count("select count(*) from replay_items").await, 2);
    let none = JobFilter { code: Some("poison_crash".into()), ..JobFilter::default() };
    let nothing = ReplayOrder { filter: none, ..order(1, 1) };
    let answer = world.operations().start_replay(Uuid::from_u128(8), &nothing, &olga()).await.unwrap();
    assert_eq!(answer, None);
    assert_eq!(world.count("select count(*) from replay_operations").await, 1);
}

#[tokio::test]
async fn bulk_replay_leaves_out_settled_dead_letters() {
    let world = World::new().await;
    let dead = dead_letters(&world, 2).await;
    world.operate(&dead[0], Operation::Discard).await.unwrap();
    assert_eq!(world.operations().preview_replay(&order(1, 1).filter).await.unwrap().jobs, 1);
    assert_eq!(started(&world, &order(60, 1)).await.items, 1);
    let items = world.operations().replay_items(&OPERATION.to_string(), 0, 9).await.unwrap();
    assert_eq!(items[0].job_id, dead[1].as_str());
}

#[tokio::test]
async fn bulk_replay_keeps_to_in_flight_and_per_minute_limits() {
    let world = World::new().await;
    dead_letters(&world, 4).await;
    started(&world, &order(60_000, 2)).await;
    for _ in 0..2 {
        assert_eq!(step(&world).await, Stepped::Replayed);
    }
    assert_eq!(step(&world).await, Stepped::Waits, "two are unfinished");
    complete_all(&world).await;
    world.run("update replay_operations set per_minute = 1").await;
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(step(&world).await, Stepped::Waits, "one a minute");
}

#[tokio::test]
async fn bulk_replay_is_paused_resumed_and_cancelled() {
    let world = World::new().await;
    dead_letters(&world, 3).await;
    started(&world, &order(60_000, 10)).await;
    let id = OPERATION.to_string();
    let change = async |what| world.operations().change_replay(&id, what, &olga()).await.unwrap();
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(change(ReplayChange::Pause).await, Some(true));
    assert_eq!(change(ReplayChange::Pause).await, Some(false));
    assert_eq!(step(&world).await, Stepped::Left);
    assert_eq!(world.operations().due_replay("").await.unwrap(), None);
    assert_eq!(change(ReplayChange::Resume).await, Some(true));
    assert_eq!(world.operations().due_replay("").await.unwrap(), Some(id.clone()));
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(change(ReplayChange::Cancel).await, Some(true));
    assert_eq!(step(&world).await, Stepped::Left);
    assert_eq!(change(ReplayChange::Resume).await, Some(false), "for good");
    let view = view(&world).await;
    assert_eq!((view.replayed, view.waiting()), (2, 1));
}

#[tokio::test]
async fn bulk_replay_that_waits_is_due_half_a_second_later() {
    let world = World::new().await;
    dead_letters(&world, 2).await;
    started(&world, &order(60_000, 1)).await;
    let due = async || world.operations().due_replay("").await.unwrap();
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(due().await, Some(OPERATION.to_string()), "there may be another item");
    let before = world.ledger.db().now().await.unwrap();
    assert_eq!(step(&world).await, Stepped::Waits);
    let until: Timestamp = world.value("select lease_until from replay_operations").await;
    assert!(until >= before + Duration::milliseconds(500), "{until}, asked at {before}");
    // An hour later by its row, and not by the clock: half a second is soon over.
    world.run("update replay_operations set lease_until = lease_until + interval '1 hour'").await;
    assert_eq!(due().await, None);
    world
        .run("update replay_operations set lease_until = lease_until - interval '1 hour 500 milliseconds'")
        .await;
    assert_eq!(due().await, Some(OPERATION.to_string()));
}

/// Two processes that are at it at the same time.
#[tokio::test]
async fn concurrent_executors_replay_each_job_once() {
    let world = World::new().await;
    let dead = dead_letters(&world, 12).await;
    started(&world, &order(60_000, 100)).await;
    let replays = [world.ledger.clone(), world.other_process()].map(|ledger| async move {
        let (operations, id) = (Operations::new(&ledger), OPERATION.to_string());
        let mut replayed = 0;
        loop {
            match operations.step_replay(&id, "p").await.unwrap() {
                Stepped::Replayed => replayed += 1,
                Stepped::Left => tokio::task::yield_now().await,
                _ => return replayed,
            }
        }
    });
    assert_eq!(at_once(replays).await.into_iter().sum::<i32>(), 12);
    for job in dead {
        assert_eq!(world.job(&job).await.generation.0, 2);
    }
    let once = "select count(*) from operator_actions where action = 'replay'";
    assert_eq!(world.count(once).await, 12);
}

/// Two dead letters, where `breaking` makes the replay of the first fail: it is refused, and the second is replayed.
async fn assert_first_is_refused_and_second_replayed(breaking: &'static str) {
    let world = World::new().await;
    dead_letters(&world, 2).await;
    started(&world, &order(60_000, 10)).await;
    world.run(breaking).await;
    assert_eq!(step(&world).await, Stepped::Refused);
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(world.count("select count(*) from replay_items where result = 'error'").await, 1);
}

/// The second try took its own lock, which the driver had not given back yet, for another process's.
#[tokio::test]
async fn bulk_replay_step_replays_a_job_that_changed_while_it_was_decided() {
    let world = World::new().await;
    dead_letters(&world, 1).await;
    started(&world, &order(60_000, 10)).await;
    // The first update finds another version.
    world
        .run(
            "create sequence updates; \
             create function lose() returns trigger language plpgsql as \
                 $$begin if nextval('updates') = 1 then return null; end if; return new; end$$; \
             create trigger lose before update on finalization_jobs for each row execute function lose()",
        )
        .await;
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(world.count("select last_value from updates").await, 2);
}

#[tokio::test]
async fn bulk_replay_skips_an_unreadable_job() {
    assert_first_is_refused_and_second_replayed(
        "alter table finalization_jobs drop constraint origin_known; update finalization_jobs set origin = 'x' \
         where job_id = (select job_id from replay_items where position = 1)",
    )
    .await;
}

#[tokio::test]
async fn bulk_replay_skips_a_job_whose_update_fails() {
    assert_first_is_refused_and_second_replayed(
        "create function refuse() returns trigger language plpgsql as \
             $$begin if new.job_id = (select job_id from replay_items where position = 1) then \
                 raise exception 'no' using errcode = '23514'; end if; return new; end$$; \
         create trigger refuse before update on finalization_jobs for each row execute function refuse()",
    )
    .await;
}

/// An operation over thousands of jobs was done in a moment, with all of them refused.
#[tokio::test]
async fn bulk_replay_refuses_no_item_of_what_would_fail_for_each() {
    let world = World::new().await;
    dead_letters(&world, 1).await;
    started(&world, &order(60_000, 10)).await;
    world.run("alter table operator_actions rename to actions_of_another_version").await;
    let failed = world.operations().step_replay(&OPERATION.to_string(), "p").await;
    world.run("alter table actions_of_another_version rename to operator_actions").await;
    assert!(failed.is_err_and(|error| !error.is_of_one_row()));
    assert_eq!(step(&world).await, Stepped::Replayed);
}

#[tokio::test]
async fn replay_keeps_checkpoints_unless_from_scratch() {
    let world = World::new().await;
    let dead = dead_letters(&world, 2).await;
    world
        .run(
            "insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
             select user_id, job_id, 'describe', 1, '\\x00', '{}', 1 from finalization_jobs",
        )
        .await;
    world.operate(&dead[0], REPLAY).await.unwrap();
    assert_eq!(world.view(&dead[0]).await.checkpoints, ["describe"]);
    world.operate(&dead[1], Operation::Replay { from_scratch: true }).await.unwrap();
    assert_eq!(world.view(&dead[1]).await.checkpoints, Vec::<String>::new());
    assert!(matches!(world.job(&dead[1]).await.state, State::Queued { .. }));
    world.age(&dead[1], Duration::seconds(1)).await;
}

#[tokio::test]
async fn bulk_replay_rate_does_not_accumulate_while_it_waits() {
    let world = World::new().await;
    dead_letters(&world, 2).await;
    started(&world, &order(1, 10)).await;
    world.run("update replay_operations set next_at = now() - interval '1 hour'").await;
    assert_eq!(step(&world).await, Stepped::Replayed);
    assert_eq!(step(&world).await, Stepped::Waits, "one a minute");
}

#[tokio::test]
async fn bulk_replay_refusals_do_not_count_against_the_rate() {
    let world = World::new().await;
    let dead = dead_letters(&world, 2).await;
    started(&world, &order(1, 10)).await;
    world.operate(&dead[0], REPLAY).await.unwrap();
    assert_eq!(step(&world).await, Stepped::Refused);
    assert_eq!(step(&world).await, Stepped::Replayed);
}

#[tokio::test]
async fn bulk_replay_counts_a_pruned_job_as_completed() {
    let world = World::new().await;
    dead_letters(&world, 1).await;
    started(&world, &order(60_000, 10)).await;
    assert_eq!(step(&world).await, Stepped::Replayed);
    complete_all(&world).await;
    world.run("delete from finalization_jobs").await;
    assert_eq!(step(&world).await, Stepped::Done);
    assert_eq!(view(&world).await.completed, 1);
}
