//! The hot reads of jobs use their indexes at realistic sizes and default planner settings. Asked of the server's
//! own counters after the real verb ran, and repeated so often that its prepared statements have generic plans, so
//! that no copy of a query is explained instead.

use job::{JobId, Queue};
use ledger::{Ledger, Settings};
use records::{ConversationId, UserId};

use crate::world::{World, worker};

/// 50,000 finished jobs of 500 people, and 2,000 that wait with their bells; 200 of those are leased and expired.
pub(crate) const HISTORY: &str = "insert into users (user_id) select 'u' || n from generate_series(0, 499) n; \
    insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
        language, source, status, finalization_revision) \
    select 'u' || n % 500, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'completed', 1 \
    from generate_series(0, 51999) n; \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, ready_at, \
        outcome, lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, epoch, requires_keys, \
        force_process, admitted_at, reconcile_after_at, created_at, updated_at, finished_at) \
    select 'u' || n % 500, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', status, \
        case when status = 'queued' then at end, case when status = 'completed' then 'kept' end, \
        case when status = 'leased' then 'w' end, case when status = 'leased' then at end, \
        case when status = 'leased' then at end, case when status = 'leased' then at end, 0, false, \
        false, at, case when status <> 'completed' then at + interval '30 s' end, at, at, \
        case when status = 'completed' then at end \
    from (select n, now() - n * interval '1 minute' as at, \
        case when n >= 2000 then 'completed' when n < 200 then 'leased' else 'queued' end as status \
        from generate_series(0, 51999) n) s; \
    insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
    select job_id, 1, 1, queue, admitted_at from finalization_jobs where status in ('queued', 'leased')";

/// As often as it takes for the server to prefer a generic plan.
const TIMES: usize = 8;

/// Scans of a table since the database was made: sequential ones, and those of one index.
async fn scans(world: &World, table: &str, index: &str) -> (i64, i64) {
    sqlx::query_as(
        "select t.seq_scan, i.idx_scan from pg_stat_user_tables t join pg_stat_user_indexes i using (relid) \
         where t.relname = $1 and i.indexrelname = $2",
    )
    .bind(table)
    .bind(index)
    .fetch_one(&world.pool)
    .await
    .unwrap()
}

/// Runs a verb in a process of its own, and asserts that it read each table through the index named with it, each
/// time, and never whole. A session reports its counts when it ends at the latest, so its end is awaited.
async fn assert_uses(indexes: &[(&str, &str)], verb: impl AsyncFn(&Ledger, usize)) {
    assert_uses_with("", indexes, verb).await;
}

/// The same, with more rows than the history.
pub(crate) async fn assert_uses_with(
    more: &'static str,
    indexes: &[(&str, &str)],
    verb: impl AsyncFn(&Ledger, usize),
) {
    let world = World::new().await;
    world.database.seed(&[HISTORY, "analyze", more]).await;
    let mut before = Vec::new();
    for (table, index) in indexes {
        before.push(scans(&world, table, index).await);
    }
    let options = world.database.options().application_name("verb");
    let process = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    for time in 0..TIMES {
        verb(&process, time).await;
    }
    process.close().await;
    world.database.until_nobody_is("verb").await;
    for ((table, index), (whole, through)) in indexes.iter().zip(before) {
        let after = scans(&world, table, index).await;
        assert!(after.1 >= through + TIMES as i64, "{index} was used {} times", after.1 - through);
        assert_eq!(after.0, whole, "{table} was read whole");
    }
}

#[tokio::test]
async fn the_take_uses_the_due_index_of_bells_and_finds_jobs_by_id() {
    let indexes = [
        ("finalization_bells", "finalization_bells_due"),
        ("finalization_bells", "finalization_bells_pkey"),
        ("finalization_jobs", "finalization_jobs_by_id"),
        ("finalization_jobs", "finalization_jobs_pkey"),
    ];
    assert_uses(&indexes, async |ledger, _| {
        let taken = ledger.take(Queue::Finalization, &worker("w"), 4).await.unwrap();
        assert_eq!(taken.answers, ["claimed"; 4]);
    })
    .await;
}

#[tokio::test]
async fn the_next_ring_is_read_from_the_due_index_of_bells() {
    assert_uses(&[("finalization_bells", "finalization_bells_due")], async |ledger, _| {
        assert!(ledger.next_ring_at(Queue::Finalization).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn the_reconcilers_page_uses_the_due_index() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_due")], async |ledger, _| {
        let page = ledger.due_page(None, 50).await.unwrap();
        assert_eq!(page.len(), 50);
        let (at, _, id) = page.last().unwrap().clone();
        assert_eq!(ledger.due_page(Some((at, id)), 50).await.unwrap().len(), 50);
    })
    .await;
}

#[tokio::test]
async fn the_lease_watch_uses_the_index_of_leases() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_leases")], async |ledger, _| {
        assert_eq!(ledger.expired_leases(20).await.unwrap().len(), 20);
    })
    .await;
}

#[tokio::test]
async fn a_deletion_finds_the_live_job_by_its_index() {
    assert_uses(&[("finalization_jobs", "one_live_job_per_conversation")], async |ledger, time| {
        let (user, id) = (UserId::new(format!("u{}", 300 + time)), format!("c{}", 300 + time));
        assert!(ledger.delete_conversation(&user, &ConversationId::new(id)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn the_poll_uses_the_index_of_revisions() {
    assert_uses(&[("finalization_jobs", "one_job_per_revision")], async |ledger, time| {
        let (user, id) = (UserId::new(format!("u{time}")), ConversationId::new(format!("c{time}")));
        assert!(ledger.poll(&user, &id).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_reconcile_finds_its_job_by_id_and_its_bells_by_theirs() {
    let indexes =
        [("finalization_jobs", "finalization_jobs_by_id"), ("finalization_bells", "finalization_bells_pkey")];
    assert_uses(&indexes, async |ledger, time| {
        let (user, id) = (UserId::new(format!("u{time}")), JobId::from_text(format!("fj{time}")));
        ledger.reconcile(&user, &id).await.unwrap();
    })
    .await;
}
