//! What a lost lease, a lost bell and a bell of nobody's job lead to.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use chrono::Duration;
use job::{FailureCode, Generation, Queue, State};
use ledger::{Answer, CheckpointKey, Edge, Ledger, OperatorAction, Settings};
use serde_json::json;

use crate::world::{World, worker};

const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };
const CHECKPOINTS: &str = "select count(*) from stage_checkpoints";

#[tokio::test]
async fn a_checkpoint_of_an_old_claim_is_not_written() {
    let world = World::new().await;
    let old = world.claimed("c").await;
    world.age(&old.job.id, Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;
    assert!(!world.ledger.record(&old.holding(), &KEY, &json!("old"), &[]).await.unwrap());
    assert_eq!(world.count(CHECKPOINTS).await, 0);
    assert!(world.ledger.record(&new.holding(), &KEY, &json!("new"), &[]).await.unwrap());
    assert_eq!(world.ledger.recall(&new.holding(), &KEY).await.unwrap(), Some(json!("new")));
}

#[tokio::test]
async fn of_two_checkpoints_under_one_key_the_first_stands() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    assert!(world.ledger.record(&run.holding(), &KEY, &json!(1), &[]).await.unwrap());
    assert!(world.ledger.record(&run.holding(), &KEY, &json!(2), &[]).await.unwrap());
    assert_eq!(world.ledger.recall(&run.holding(), &KEY).await.unwrap(), Some(json!(1)));
}

#[tokio::test]
async fn a_lost_lease_records_nothing_even_when_nobody_took_over() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let released = world.ledger.settle(&run.holding(), Edge::Release { delay: Duration::zero() }).await;
    assert!(matches!(released.unwrap(), Answer::Granted { state: State::Queued { .. }, .. }));
    assert!(!world.ledger.record(&run.holding(), &KEY, &json!(1), &[]).await.unwrap());
    assert_eq!(world.count(CHECKPOINTS).await, 0);
}

#[tokio::test]
async fn without_bells_a_finalize_is_admitted_and_a_reconcile_rings_later() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.ledger.append_segments(&world.ann, &id, &[crate::world::said("s")]).await.unwrap().unwrap();
    world.run("alter table finalization_bells rename to away").await;
    let job = world.ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap().unwrap();
    assert_eq!(world.count("select count(*) from finalization_jobs where unrung").await, 1);
    // Due at once; but as long as no bell can be written, nothing changes except the moment of the next look.
    assert!(world.ledger.reconcile(&world.ann, &job).await.unwrap_err().is_bell());
    let put_off = "select count(*) from finalization_jobs where unrung and generation = 1 and look_at = \
        reconcile_after_at and look_at between clock_timestamp() + interval '50 s' and clock_timestamp() + interval '60 s'";
    assert_eq!(world.count(put_off).await, 1);
    world.run("alter table away rename to finalization_bells").await;
    world.age(&job, Duration::seconds(61)).await;
    assert!(matches!(world.ledger.reconcile(&world.ann, &job).await.unwrap(), Answer::Granted { .. }));
    let view = world.view(&job).await;
    assert!(!view.job.unrung);
    assert_eq!(view.job.generation, Generation(2));
    assert_eq!(view.bells.len(), 1);
    assert_eq!(world.answers(Queue::Finalization).await, ["claimed"]);
}

#[tokio::test]
async fn without_bells_a_failed_run_is_stored_and_marked_unrung() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    world.run("alter table finalization_bells rename to away").await;
    let failed = Arc::new(AtomicU32::new(0));
    let counted = failed.clone();
    let enqueue_failed = Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let ledger = Ledger::new(world.database.options(), Settings { enqueue_failed, ..Settings::default() });
    let code = FailureCode::ModelTimeout;
    let edge = Edge::Fail { code, retry_after: None, jitter_permille: 0 };
    let answer = ledger.settle(&run.holding(), edge).await.unwrap();
    assert!(matches!(answer, Answer::Granted { retry: true, .. }), "{answer:?}");
    assert_eq!(failed.load(Ordering::SeqCst), 1, "it is counted");
    world.run("alter table away rename to finalization_bells").await;
    let job = world.job(&run.job.id).await;
    assert!(job.unrung && job.attempts == 1, "{job:?}");
    assert_eq!(
        job.reconcile_after_at(world.ledger.policy()),
        match job.state {
            State::Queued { ready_at } => Some(ready_at),
            other => panic!("{other:?}"),
        }
    );
}

/// Puts a bell of `generation` into the creation queue that has been due for a second.
async fn ring(world: &World, job: &str, ring: i64, generation: i64) {
    sqlx::query(
        "insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
         values ($1, $2, $3, 'creation', clock_timestamp() - interval '1 second')",
    )
    .bind(job)
    .bind(ring)
    .bind(generation)
    .execute(&world.pool)
    .await
    .unwrap();
}

const BELLS: &str = "select count(*) from finalization_bells";

#[tokio::test]
async fn a_bell_that_leads_nowhere_is_answered_and_disappears() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    world.run("delete from finalization_bells; update finalization_jobs set generation = 3").await;
    let before = world.job(&job).await;
    for (named, generation, answer) in [
        (job.as_str(), 2, "stale_generation"),
        (job.as_str(), 4, "unknown_generation"),
        ("fj_nobody", 1, "missing"),
    ] {
        ring(&world, named, 90, generation).await;
        assert_eq!(world.answers(Queue::Creation).await, [answer]);
        assert_eq!(world.count(BELLS).await, 0, "{answer}");
        let (delivered, claimed) = world
            .ledger
            .claim(&job::JobId::from_text(named), Generation(generation), &worker("w"))
            .await
            .unwrap();
        assert_eq!((delivered, claimed), (answer, None));
    }
    assert_eq!(world.job(&job).await, before);
}

#[tokio::test]
async fn a_bell_of_a_job_at_rest_or_in_hand_is_answered_and_disappears() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    world.run("delete from finalization_bells").await;
    let name = run.job.id.as_str();
    ring(&world, name, 90, 1).await;
    assert_eq!(world.answers(Queue::Creation).await, ["leased"]);
    let edge = Edge::Fail { code: FailureCode::InvalidJob, retry_after: None, jitter_permille: 0 };
    world.ledger.settle(&run.holding(), edge).await.unwrap();
    ring(&world, name, 91, 1).await;
    assert_eq!(world.answers(Queue::Creation).await, ["dead_letter"]);
    let action = OperatorAction { operator: "olga".into(), reason: "fixed".into() };
    world.ledger.replay(&run.job.id, &action).await.unwrap().unwrap().unwrap();
    world.run("delete from finalization_bells").await;
    let again = world.claim(&run.job.id).await;
    world.ledger.settle(&again.holding(), Edge::Park).await.unwrap();
    ring(&world, name, 92, 2).await;
    assert_eq!(world.answers(Queue::Creation).await, ["blocked_byok"]);
    assert_eq!(world.count(BELLS).await, 0);
}

#[tokio::test]
async fn a_bell_that_rings_too_early_is_moved_to_its_moment() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let edge = Edge::Fail { code: FailureCode::ModelTimeout, retry_after: None, jitter_permille: 0 };
    world.ledger.settle(&run.holding(), edge).await.unwrap();
    world.run("delete from finalization_bells").await;
    ring(&world, run.job.id.as_str(), 2, 1).await;
    assert_eq!(world.answers(Queue::Creation).await, ["not_yet"]);
    let view = world.view(&run.job.id).await;
    let State::Queued { ready_at } = view.job.state else { panic!("{:?}", view.job) };
    assert_eq!(view.bells, [(2, 1, ready_at)]);
    assert_eq!(world.ledger.next_ring_at(Queue::Creation).await.unwrap().map(|next| next.1), Some(ready_at));
    assert!(world.answers(Queue::Creation).await.is_empty());
}
