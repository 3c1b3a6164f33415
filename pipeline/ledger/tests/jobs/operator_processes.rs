//! What operators see of processes, queues and usage: since when a process lives, which queue is paused, what a job
//! used.

use job::Queue;
use operations::RunCounts;

use crate::{
    three_conversations::ThreeConversations,
    world::{World, olga, process},
};

#[tokio::test]
async fn process_start_is_kept_while_seen_and_reset_after_an_absence() {
    let world = World::new().await;
    let process = process("host:1", 1);
    let report = async || world.operations().report_process(&process, &RunCounts::default()).await.unwrap();
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
async fn repeated_process_reports_are_counted_once() {
    let world = World::new().await;
    let report = async |id, completed| {
        let mut ended = RunCounts { completed, failed: 1, ..RunCounts::default() };
        ended.lengths[2] = completed;
        world.operations().report_process(&process(id, 1), &ended).await.unwrap();
    };
    report("host:1", 2).await;
    report("host:1", 2).await;
    let total: i64 = counted(&world).await.iter().map(|(_, completed, ..)| completed).sum();
    assert_eq!(total, 2, "an answer was lost, and the report repeated");
    report("host:2", 3).await;
    report("host:1", 7).await;
    // A report that timed out may arrive after later ones.
    report("host:1", 2).await;
    report("host:1", 7).await;
    let each = |id: &str, count| (id.to_owned(), count, 1, count);
    assert_eq!(counted(&world).await, [each("host:1", 7), each("host:2", 3)]);
}

/// The counts of each process over all minutes: completed, failed, and of the third length.
async fn counted(world: &World) -> Vec<(String, i64, i64, i64)> {
    world
        .rows(
            "select process_id, sum(completed)::bigint, sum(failed)::bigint, sum(lengths[3])::bigint \
         from service_minutes group by process_id order by process_id",
        )
        .await
}

#[tokio::test]
async fn resume_changes_its_own_queue_and_only_a_paused_one() {
    let world = World::new().await;
    for queue in [Queue::Creation, Queue::Finalization] {
        assert!(world.operations().pause(queue, &olga()).await.unwrap());
    }
    assert!(world.operations().resume(Queue::Creation, &olga()).await.unwrap());
    let paused: Vec<String> = world.list("select queue from queue_pauses").await;
    assert_eq!(paused, ["finalization"]);
    assert!(!world.operations().resume(Queue::Creation, &olga()).await.unwrap());
    assert_eq!(
        world.count("select count(*) from operator_actions").await,
        3,
        "nothing was resumed, nothing recorded"
    );
}

#[tokio::test]
async fn job_page_shows_its_own_engine_usage() {
    let three = ThreeConversations::new().await;
    let runs = three.claimed().await;
    three
        .world
        .run(
            "insert into engine_usage (user_id, job_id, epoch, stage, engine, calls, prompt_tokens, cached_tokens, \
                 completion_tokens) \
             select user_id, job_id, 1, 'structure', user_id || ' ' || conversation_id, 1, 1, 0, 1 from finalization_jobs",
        )
        .await;
    for run in runs {
        let page = three.world.operations().job_page(&run.job.id).await.unwrap().unwrap();
        let engines: Vec<_> = page.spent.iter().map(|one| one.engine.clone()).collect();
        assert_eq!(engines, [format!("{} {}", run.user_id, run.conversation_id)]);
    }
}
