//! Query plans: the frequent reads of jobs use their indexes at realistic sizes and default planner settings.
//! Measured with the server's counters after the real operation ran, often enough for generic plans, so that no copy
//! of a query is explained instead.

use job::{JobId, Queue};
use ledger::{ClaimRequest, Ledger, Settings};
use records::{ConversationId, UserId};
use testbed::TestDatabase;
use tokio::sync::OnceCell;

use crate::world::{World, wanted};

/// 50,000 finished jobs of 500 users, and 2,000 live ones: 1,800 queued, and 200 with expired leases.
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
        from generate_series(0, 51999) n) s";

/// Enough runs for the server to choose a generic plan.
const TIMES: usize = 8;

/// A database that the first test fills, and of which each has a copy.
pub(crate) struct Filled {
    statements: &'static [&'static str],
    database: OnceCell<TestDatabase>,
}

impl Filled {
    pub(crate) const fn with(statements: &'static [&'static str]) -> Self {
        Self { statements, database: OnceCell::const_new() }
    }

    pub(crate) async fn world(&self) -> World {
        let filled = async || {
            let database = TestDatabase::new().await;
            database.seed(self.statements).await;
            database
        };
        World::over(self.database.get_or_init(filled).await.copy().await).await
    }
}

static GROWN: Filled = Filled::with(&[HISTORY, "analyze"]);

async fn assert_uses(indexes: &[(&str, &str)], operation: impl AsyncFn(&Ledger, usize)) {
    assert_uses_in(&GROWN.world().await, indexes, operation).await;
}

/// Runs an operation in a process of its own, and asserts that it read each table through the named index each time,
/// and never by a sequential scan. A session reports its counters when it ends at the latest, so its end is awaited.
pub(crate) async fn assert_uses_in(
    world: &World,
    indexes: &[(&str, &str)],
    operation: impl AsyncFn(&Ledger, usize),
) {
    let mut before = Vec::new();
    for (table, index) in indexes {
        before.push(world.scans(table, index).await);
    }
    let options = world.database.options().application_name("measured");
    let process = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    for time in 0..TIMES {
        operation(&process, time).await;
    }
    process.db().close().await;
    world.database.until_nobody_is("measured").await;
    for ((table, index), (whole, through)) in indexes.iter().zip(before) {
        let after = world.scans(table, index).await;
        assert!(after.1 >= through + TIMES as i64, "{index} was used {} times", after.1 - through);
        assert_eq!(after.0, whole, "{table} was read whole");
    }
}

#[tokio::test]
async fn claim_uses_the_ready_index_and_updates_by_id() {
    let indexes =
        [("finalization_jobs", "finalization_jobs_due"), ("finalization_jobs", "finalization_jobs_by_id")];
    assert_uses(&indexes, async |ledger, _| {
        let claims = ledger.claim(&wanted(Queue::Finalization, 4)).await.unwrap();
        assert_eq!(claims.claims.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn claim_for_other_users_uses_the_by_user_index() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_by_user")], async |ledger, time| {
        let request = ClaimRequest { share: 0, ..wanted(Queue::Finalization, 2) };
        let claims = ledger.claim(&request).await.unwrap().claims;
        assert_eq!(claims.len(), 2, "round {time}");
    })
    .await;
}

#[tokio::test]
async fn due_page_uses_the_parked_index() {
    const PARKED: &str = "update finalization_jobs set status = 'blocked_byok', ready_at = null, requires_keys = true, \
        first_blocked_at = admitted_at where status = 'queued'";
    let world = GROWN.world().await;
    world.database.seed(&[PARKED]).await;
    let index = [("finalization_jobs", "finalization_jobs_parked")];
    assert_uses_in(&world, &index, async |ledger, _| {
        let page = ledger.due_page(None, 50).await.unwrap();
        assert_eq!(page.found.len(), 50);
        assert_eq!(ledger.due_page(page.next.as_ref(), 50).await.unwrap().found.len(), 50);
    })
    .await;
}

#[tokio::test]
async fn expired_leases_use_the_leases_index() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_leases")], async |ledger, _| {
        assert_eq!(ledger.expired_leases(None, 20).await.unwrap().found.len(), 20);
    })
    .await;
}

#[tokio::test]
async fn delete_conversation_uses_the_live_job_index() {
    assert_uses(&[("finalization_jobs", "one_unfinished_job_per_conversation")], async |ledger, time| {
        let (user, id) = (UserId::new(format!("u{}", 300 + time)), format!("c{}", 300 + time));
        assert!(ledger.delete_conversation(&user, &ConversationId::new(id)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn poll_uses_the_revision_index() {
    assert_uses(&[("finalization_jobs", "one_job_per_revision")], async |ledger, time| {
        let (user, id) = (UserId::new(format!("u{time}")), ConversationId::new(format!("c{time}")));
        assert!(ledger.poll(&user, &id).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn reconcile_uses_the_by_id_index() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_by_id")], async |ledger, time| {
        ledger.reconcile(&JobId::from_text(format!("fj{time}"))).await.unwrap();
    })
    .await;
}
