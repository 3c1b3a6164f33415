//! Checkpoints, and the engine usage recorded with them: fenced by the epoch, never counted twice.

use chrono::Duration;
use job::{Job, Outcome, State};
use ledger::{Answer, CheckpointKey, Results, Spent, StoredJob, Transition};
use serde_json::json;

use crate::world::{World, completion};

const KEY: CheckpointKey = CheckpointKey { stage: "survey", version: 1, digest: [7; 32] };

fn survey(calls: i64, prompt_tokens: i64) -> Spent {
    Spent {
        stage: "survey".into(),
        engine: "openai:small@models.example/p3".into(),
        calls,
        prompt_tokens,
        cached_tokens: 10,
        completion_tokens: 25,
        ..Spent::default()
    }
}

async fn spent(world: &World, run: &StoredJob) -> Vec<(i64, i64, i64)> {
    let page = world.operations().job_page(&run.job.id).await.unwrap().unwrap();
    page.spent.iter().map(|one| (one.epoch, one.calls, one.prompt_tokens)).collect()
}

#[tokio::test]
async fn usage_is_recorded_with_the_checkpoint_and_a_repeat_adds_nothing() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    for _ in 0..2 {
        assert!(
            world.ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[survey(1, 900)]).await.unwrap(),
            "an answer that was lost is asked for again"
        );
    }
    assert_eq!(spent(&world, &run).await, [(1, 1, 900)]);
    assert!(world.ledger.spend(&run.lease_token(), &[survey(3, 2_700)]).await.unwrap());
    let older = Spent { cached_tokens: 9, completion_tokens: 24, ..survey(2, 1_800) };
    assert!(world.ledger.spend(&run.lease_token(), &[older]).await.unwrap(), "an older call, late");
    assert_eq!(spent(&world, &run).await, [(1, 3, 2_700)], "counts of a run never go down");
    let others = "select count(*) from engine_usage where cached_tokens = 10 and completion_tokens = 25";
    assert_eq!(world.count(others).await, 1);
}

#[tokio::test]
async fn usage_is_counted_per_run_and_refused_after_a_lost_lease() {
    let world = World::new().await;
    let old = world.claimed("c").await;
    world.ledger.spend(&old.lease_token(), &[survey(1, 900)]).await.unwrap();
    world.age(&old.job.id, Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;
    assert!(!world.ledger.spend(&old.lease_token(), &[survey(5, 5)]).await.unwrap());
    assert!(
        !world.ledger.record(&old.lease_token(), &KEY, &json!("old"), false, &[survey(5, 5)]).await.unwrap()
    );
    assert!(
        world.ledger.record(&new.lease_token(), &KEY, &json!("new"), true, &[survey(2, 100)]).await.unwrap()
    );
    assert_eq!(spent(&world, &old).await, [(1, 1, 900), (2, 2, 100)]);
    world.release(&new).await;
    assert!(!world.ledger.spend(&new.lease_token(), &[survey(9, 9)]).await.unwrap(), "the lease is released");
}

#[tokio::test]
async fn job_page_shows_the_engine_of_kept_and_discarded_results() {
    let world = World::new().await;
    for (id, outcome) in [("kept", Outcome::Kept), ("noise", Outcome::Discarded)] {
        let run = world.claimed(id).await;
        assert_eq!(world.operations().job_page(&run.job.id).await.unwrap().unwrap().engine, None, "not yet");
        let results = Results { engine: "engine/7".into(), ..Results::default() };
        world.ledger.complete(&completion(&run, outcome, results)).await.unwrap();
        let page = world.operations().job_page(&run.job.id).await.unwrap().unwrap();
        assert_eq!((page.engine.as_deref(), page.spent), (Some("engine/7"), Vec::new()), "{id}");
    }
}

const CHECKPOINTS: &str = "select count(*) from stage_checkpoints";

#[tokio::test]
async fn second_checkpoint_under_one_key_does_not_replace_the_first() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    assert!(world.ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap());
    assert!(world.ledger.record(&run.lease_token(), &KEY, &json!(2), false, &[]).await.unwrap());
    assert_eq!(world.ledger.recall(&run.lease_token(), &KEY).await.unwrap(), Some(json!(1)));
}

#[tokio::test]
async fn record_is_refused_after_a_release_without_a_takeover() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let released =
        world.ledger.settle(&run.lease_token(), Transition::Release { delay: Duration::zero() }, None).await;
    assert!(matches!(
        released.unwrap(),
        Answer::Granted { job: Job { state: State::Queued { .. }, .. }, .. }
    ));
    assert!(!world.ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap());
    assert_eq!(world.count(CHECKPOINTS).await, 0);
}
