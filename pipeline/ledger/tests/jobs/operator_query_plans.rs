//! Query plans of the operators' lists: each uses the index that has its order, however long the history.

use db::After;
use job::JobId;
use ledger::Ledger;
use operations::{ActionFilter, JobFilter, Operations};
use outbox::DeliveryPage;
use records::UserId;

use crate::query_plans::{Filled, HISTORY, assert_uses_in};

/// 5,000 of the finished jobs become dead letters with two codes, one of them rare; and as many operator actions.
const DEAD: &str = "update finalization_jobs set status = 'dead_letter', outcome = null, \
        dead_code = case when ctid::text like '%7)' and created_at < now() - interval '20 days' then 'no_content' \
            else 'model_timeout' end \
    where status = 'completed' and created_at < now() - interval '32 days'; \
    insert into operator_actions (user_id, action_id, job_id, action, operator, reason, created_at) \
    select user_id, 'a' || job_id, job_id, 'replay', 'olga', 'why', created_at from finalization_jobs; \
    insert into webhook_endpoints (user_id, endpoint_id, url, events, secret) \
        select 'u' || n, 'w', 'https://a.example', '{}', 's' from generate_series(0, 499) n; \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, occurred_at, finished_at) \
    select 'u' || n % 500, 'w', 'd' || n, 'e', case when n % 400 = 0 then 'exhausted' else 'delivered' end, now(), \
        now() - n * interval '1 minute' from generate_series(0, 40000) n; \
    analyze";

static OPERATED: Filled = Filled::with(&[HISTORY, "analyze", DEAD]);

async fn assert_uses(indexes: &[(&str, &str)], operation: impl AsyncFn(&Ledger, usize)) {
    assert_uses_in(&OPERATED.world().await, indexes, operation).await;
}

fn filter(status: Option<&str>, code: Option<&str>) -> JobFilter {
    JobFilter {
        status: status.map(str::to_owned),
        code: code.map(str::to_owned),
        limit: 50,
        ..JobFilter::default()
    }
}

async fn list_uses(index: &str, filter: JobFilter) {
    assert_uses(&[("finalization_jobs", index)], async |ledger, _| {
        let page = Operations::new(ledger).jobs_page(&filter).await.unwrap();
        assert!(!page.jobs.is_empty());
        if let Some(next) = page.next {
            let second = JobFilter { after: Some(next), ..filter.clone() };
            Operations::new(ledger).jobs_page(&second).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn jobs_page_uses_the_index_of_its_order() {
    for (index, status, code) in [
        ("finalization_jobs_newest", None, None),
        ("finalization_jobs_dead_by_code", Some("dead_letter"), Some("model_timeout")),
        ("finalization_jobs_dead_by_code", None, Some("no_content")),
        ("finalization_jobs_dead", Some("dead_letter"), None),
        ("finalization_jobs_oldest", Some("queued"), None),
    ] {
        list_uses(index, filter(status, code)).await;
    }
}

#[tokio::test]
async fn causes_use_the_dead_letter_indexes() {
    for (code, index) in
        [(None, "finalization_jobs_dead"), (Some("no_content"), "finalization_jobs_dead_by_code")]
    {
        assert_uses(&[("finalization_jobs", index)], async |ledger, _| {
            let causes = Operations::new(ledger).causes(&filter(None, code)).await.unwrap();
            assert!(!causes.codes.is_empty());
        })
        .await;
    }
}

#[tokio::test]
async fn overview_reads_no_finished_jobs() {
    let tables = [
        ("finalization_jobs", "finalization_jobs_oldest"),
        ("webhook_deliveries", "webhook_deliveries_oldest"),
    ];
    assert_uses(&tables, async |ledger, _| {
        let operations = Operations::new(ledger);
        operations.overview().await.unwrap();
        assert_eq!(operations.activity(24).await.unwrap().len(), 60);
    })
    .await;
}

#[tokio::test]
async fn job_page_reads_its_own_rows_only() {
    let tables =
        [("finalization_jobs", "finalization_jobs_by_id"), ("operator_actions", "operator_actions_of_job")];
    assert_uses(&tables, async |ledger, time| {
        let id = JobId::from_text(format!("fj{}", 1_000 + time));
        let page = Operations::new(ledger).job_page(&id).await.unwrap().unwrap();
        assert_eq!(page.actions.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn operator_actions_use_the_newest_first_index() {
    assert_uses(&[("operator_actions", "operator_actions_newest")], async |ledger, _| {
        let page = Operations::new(ledger)
            .actions(&ActionFilter { limit: 50, ..ActionFilter::default() })
            .await
            .unwrap();
        let last = page.last().unwrap();
        let before = Some((last.created_at, last.action_id.clone()));
        let next = ActionFilter { before, limit: 50, ..ActionFilter::default() };
        assert_eq!(Operations::new(ledger).actions(&next).await.unwrap().len(), 50);
    })
    .await;
}

#[tokio::test]
async fn given_up_deliveries_use_their_index() {
    let index = [("webhook_deliveries", "webhook_deliveries_exhausted")];
    assert_uses(&index, async |ledger, _| {
        let page = Operations::new(ledger).given_up_deliveries(None, None, 50).await.unwrap();
        let last = page.last().unwrap();
        let before = Some((last.finished_at, last.delivery_id.clone()));
        assert_eq!(Operations::new(ledger).given_up_deliveries(None, before, 50).await.unwrap().len(), 50);
    })
    .await;
}

#[tokio::test]
async fn workers_page_reads_leased_jobs_only() {
    assert_uses(&[("finalization_jobs", "finalization_jobs_leases")], async |ledger, _| {
        assert_eq!(Operations::new(ledger).workers().await.unwrap().strays.len(), 200);
    })
    .await;
}

#[tokio::test]
async fn deliveries_of_an_endpoint_use_their_index() {
    let index = [("webhook_deliveries", "webhook_deliveries_of_endpoint")];
    assert_uses(&index, async |ledger, time| {
        let user = UserId::new(format!("u{}", time + 1));
        let page = ledger.outbox().deliveries(&user, "w", &DeliveryPage::first(50)).await.unwrap();
        let last = page.last().unwrap();
        let after = Some(After { created_at: last.created_at, position: 0, id: last.id.clone() });
        let next = DeliveryPage { after, ..DeliveryPage::first(50) };
        assert_eq!(ledger.outbox().deliveries(&user, "w", &next).await.unwrap().len(), 30);
    })
    .await;
}

#[tokio::test]
async fn operator_actions_of_an_endpoint_use_the_subject_index() {
    let acted = "insert into operator_actions (user_id, action_id, subject, action, operator, reason) \
            select 'u' || n % 500, 'b' || n, 'w', 'recover_webhook', 'olga', 'why' from generate_series(0, 9999) n";
    let world = OPERATED.world().await;
    world.database.seed(&[acted, "analyze"]).await;
    let index = [("operator_actions", "operator_actions_of_subject")];
    assert_uses_in(&world, &index, async |ledger, time| {
        let about = Some((UserId::new(format!("u{time}")), "w".to_owned()));
        let filter = ActionFilter { about, limit: 20, ..ActionFilter::default() };
        assert_eq!(Operations::new(ledger).actions(&filter).await.unwrap().len(), 20);
    })
    .await;
}
