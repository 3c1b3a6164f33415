//! What operators see of processes, queues and jobs: since when one lives, which one is paused, what one spent.

use job::Queue;
use ledger::{MinuteCounts, OperatorAction, Process};

use crate::street::Street;
use crate::world::World;

#[tokio::test]
async fn a_process_that_was_away_has_begun_anew_and_one_that_was_seen_goes_on() {
    let world = World::new().await;
    let process = Process {
        id: "host:1".into(),
        version: "1".into(),
        roles: vec!["worker".into()],
        dispatch_mode: "postgres".into(),
        finalization_slots: 1,
        creation_slots: 1,
        stopping: false,
    };
    let report = async || world.ledger.report_process(&process, &MinuteCounts::default()).await.unwrap();
    const BEGAN_LONG_AGO: &str =
        "select count(*) from service_processes where started_at < now() - interval '1 hour'";
    report().await;
    world.run("update service_processes set started_at = now() - interval '1 day'").await;
    report().await;
    assert_eq!(world.count(BEGAN_LONG_AGO).await, 1, "it was seen a moment ago");
    world.run("update service_processes set seen_at = now() - interval '1 minute'").await;
    report().await;
    assert_eq!(world.count(BEGAN_LONG_AGO).await, 0);
}

#[tokio::test]
async fn a_queue_is_resumed_by_itself_and_one_that_is_not_paused_is_not() {
    let world = World::new().await;
    let olga = OperatorAction { operator: "olga".into(), reason: "fire".into() };
    for queue in [Queue::Creation, Queue::Finalization] {
        assert!(world.ledger.pause(queue, &olga).await.unwrap());
    }
    assert!(world.ledger.resume(Queue::Creation, &olga).await.unwrap());
    let paused: Vec<String> =
        sqlx::query_scalar("select queue from queue_pauses").fetch_all(&world.pool).await.unwrap();
    assert_eq!(paused, ["finalization"]);
    assert!(!world.ledger.resume(Queue::Creation, &olga).await.unwrap());
    assert_eq!(
        world.count("select count(*) from operator_actions").await,
        3,
        "nothing was resumed, nothing recorded"
    );
}

#[tokio::test]
async fn what_a_job_spent_is_shown_with_that_job() {
    let street = Street::new().await;
    let runs = street.claimed().await;
    street
        .world
        .run(
            "insert into engine_usage (user_id, job_id, epoch, stage, engine, calls, prompt_tokens, cached_tokens, \
                 completion_tokens) \
             select user_id, job_id, 1, 'structure', user_id || ' ' || conversation_id, 1, 1, 0, 1 from finalization_jobs",
        )
        .await;
    for run in runs {
        let page = street.world.ledger.job_page(&run.job.id).await.unwrap().unwrap();
        let engines: Vec<_> = page.spent.iter().map(|one| one.engine.clone()).collect();
        assert_eq!(engines, [format!("{} {}", run.user_id, run.conversation_id)]);
    }
}
