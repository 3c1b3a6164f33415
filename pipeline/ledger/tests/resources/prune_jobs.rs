//! Pruning of finished jobs and dead letters.

use std::time::Duration;

use operations::Pruned;

use crate::world::World;

const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// Jobs finished 40 days ago: `done`, and dead letters that are `settled` or `alive` (unsettled); `young` was completed
/// yesterday.
async fn with_jobs() -> World {
    let world = World::new().await;
    for id in ["done", "settled", "alive", "young"] {
        world.conversation(&world.ann, id, "failed", 0).await;
    }
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 outcome, dead_code, requires_keys, force_process, admitted_at, settled_at, created_at, updated_at, \
                 finished_at) \
             select 'ann', name, name, 1, 'finalize', 'finalization', status, \
                 case when status = 'completed' then 'kept' end, case when status = 'dead_letter' then 'internal' end, \
                 false, false, at, case when name = 'settled' then at end, at, at, at \
             from (select name, status, now() - make_interval(days => days) as at from (values \
                 ('done', 'completed', 40), ('settled', 'dead_letter', 40), ('alive', 'dead_letter', 40), \
                 ('young', 'completed', 1)) v (name, status, days)) s; \
             insert into finalization_admissions select user_id, conversation_id, revision, job_id, admitted_at \
                 from finalization_jobs; \
             insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
                 values ('ann', 'done', 'describe', 1, '', '{}', 1); \
             update finalization_totals t set jobs = (select count(*) from finalization_jobs j \
                 where j.status = t.status and abs(hashtext(j.job_id) % 16) = t.stripe); \
             insert into dead_letter_totals (code, settled, stripe, jobs) \
                 select dead_code, settled_at is not null, abs(hashtext(job_id) % 16), count(*) \
                 from finalization_jobs where status = 'dead_letter' group by 1, 2, 3",
        )
        .await;
    world
}

async fn left(world: &World) -> Vec<String> {
    world.list("select job_id from finalization_jobs order by job_id").await
}

#[tokio::test]
async fn prune_keeps_unsettled_dead_letters_and_lowers_the_totals() {
    let world = with_jobs().await;
    let pruned = world.prune(MONTH, 100).await;
    assert_eq!(pruned, Pruned { jobs: 2, ..Pruned::default() });
    assert_eq!(left(&world).await, ["alive", "young"]);
    assert_eq!(world.count("select count(*) from stage_checkpoints").await, 0);
    assert_eq!(
        world.count("select count(*) from finalization_admissions").await,
        4,
        "admissions outlive their jobs"
    );
    let gauges = world.operations().gauges().await.unwrap();
    assert!(
        gauges.jobs.contains(&("completed", 1)) && gauges.jobs.contains(&("dead_letter", 1)),
        "totals follow"
    );
    let by_code = "select format('%s %s', settled, sum(jobs)) from dead_letter_totals group by settled order by settled";
    assert_eq!(world.list::<String>(by_code).await, ["f 1", "t 0"], "and so are the totals by code");
    assert_eq!(world.prune(MONTH, 100).await, Pruned::default());
}

#[tokio::test]
async fn prune_is_bounded_and_skips_locked_rows() {
    let world = with_jobs().await;
    let mut holder = world.pool.begin().await.unwrap();
    sqlx::query("select from finalization_jobs where job_id = 'done' for update")
        .execute(&mut *holder)
        .await
        .unwrap();
    assert_eq!(world.prune(MONTH, 1).await.jobs, 1, "all but the one that is held");
    assert_eq!(left(&world).await, ["alive", "done", "young"]);
    holder.rollback().await.unwrap();
    world.run("update finalization_jobs set finished_at = finished_at - interval '40 days' where job_id = 'young'").await;
    assert_eq!(world.prune(MONTH, 1).await.jobs, 1, "a batch");
    assert_eq!(world.prune(MONTH, 1).await.jobs, 1);
}

#[tokio::test]
async fn prune_with_the_maximum_age_prunes_nothing() {
    let world = with_jobs().await;
    assert_eq!(world.prune(Duration::MAX, 100).await, Pruned::default());
    assert_eq!(left(&world).await.len(), 4);
}

#[tokio::test]
async fn prune_changes_the_totals_of_dead_letters_in_the_order_of_their_codes() {
    let world = with_jobs().await;
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 dead_code, requires_keys, force_process, admitted_at, settled_at, created_at, updated_at, finished_at) \
             select 'ann', 'd' || n, 'done', n + 1, 'finalize', 'finalization', 'dead_letter', \
                 case when abs(hashtext('d' || n) % 16) < 8 then 'no_content' else 'internal' end, \
                 false, false, at, at, at, at, at \
             from generate_series(1, 64) n, (select now() - interval '40 days' as at) s; \
             insert into dead_letter_totals (code, settled, stripe) \
                 select code, true, stripe from unnest(array['internal', 'no_content']) code, generate_series(0, 15) stripe \
                 on conflict do nothing",
        )
        .await;
    let rows = "select from dead_letter_totals where code = 'internal' for update";
    let mut holder = world.database.hold_locks(rows).await;
    let operations = world.operations();
    let pruning = tokio::spawn(async move { operations.prune(MONTH, 100).await });
    world.database.until_somebody_waits().await;
    let later = "select from dead_letter_totals where code = 'no_content' for update nowait";
    let free = sqlx::raw_sql(later).execute(&world.pool).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (pruned, ended) = pruning.await.unwrap();
    ended.unwrap();
    assert_eq!(pruned.jobs, 66);
    assert!(free.is_ok(), "nobody who settles dead letters of both codes can be waited for");
}
