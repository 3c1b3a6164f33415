//! What operators look at, on a long history against a short one: the reads behind `/metrics`, the overview page and
//! the list of jobs, newest and by cause. Every look goes to the database: nothing of it is cached.

use std::time::Instant;

use operations::{JobFilter, Operations};

use crate::{figures::median, setup::Setup};

const LOOKS: usize = 21;
/// Jobs on a page, as the console and `listen jobs list` have them.
const PAGE: i64 = 50;
/// The causes of the dead letters, in equal parts.
const CAUSES: [&str; 5] =
    ["model_timeout", "model_unavailable", "model_malformed", "internal", "poison_crash"];

/// What was looked at, with the median of the looks in milliseconds.
pub(crate) type Looked = Vec<(&'static str, f64)>;

/// Looks at everything, `dead` dead letters being there.
pub(crate) async fn looks(setup: &Setup, dead: i64) -> Looked {
    let newest = JobFilter { limit: PAGE, ..JobFilter::default() };
    let dead_letters = JobFilter { status: Some("dead_letter".to_owned()), ..newest.clone() };
    let by_cause = JobFilter { code: Some("model_timeout".to_owned()), ..newest.clone() };
    let metrics = timed(async || {
        Operations::new(&setup.ledger).gauges().await.unwrap();
        let backlog = Operations::new(&setup.ledger).backlog().await.unwrap();
        // By design it looks at the newest thousand alone.
        assert_eq!(backlog.dead_letters.iter().map(|(_, jobs)| *jobs).sum::<i64>(), dead.min(1_000));
        Operations::new(&setup.ledger).health("10s").await.unwrap();
    });
    let overview = timed(async || {
        let overview = Operations::new(&setup.ledger).overview().await.unwrap();
        let workers = Operations::new(&setup.ledger).workers().await.unwrap();
        assert_eq!(overview.dead_letters.iter().map(|letters| letters.waiting()).sum::<i64>(), dead);
        assert_eq!((overview.dead_letters.len(), workers.strays.len()), (CAUSES.len(), 0));
    });
    vec![
        ("reads of /metrics, ms", metrics.await),
        ("overview page, ms", overview.await),
        ("jobs, newest page, ms", page(setup, &newest, None).await),
        ("dead letters, newest page, ms", page(setup, &dead_letters, Some("dead_letter")).await),
        ("dead letters of one cause, newest page, ms", page(setup, &by_cause, Some("dead_letter")).await),
    ]
}

/// A page is full, and of what was asked for, or the figure is worth nothing.
async fn page(setup: &Setup, filter: &JobFilter, status: Option<&str>) -> f64 {
    timed(async || {
        let page = Operations::new(&setup.ledger).jobs_page(filter).await.unwrap();
        assert_eq!(page.jobs.len() as i64, PAGE, "both histories fill the page");
        assert!(page.next.is_some(), "and go on behind it");
        assert!(page.jobs.iter().all(|view| status.is_none_or(|status| view.job.state.status() == status)));
        assert!(page.jobs.is_sorted_by(|one, other| one.created_at >= other.created_at));
    })
    .await
}

async fn timed(look: impl AsyncFn()) -> f64 {
    let mut took = Vec::new();
    for _ in 0..LOOKS {
        let began = Instant::now();
        look().await;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    median(took)
}

/// Dead letters number `from` to `to`, with their totals as the edges would have counted them.
pub(crate) async fn dead_letters(setup: &Setup, from: i64, to: i64) {
    sqlx::query(
        "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, dead_code, \
             last_code, attempts, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
         select 'bench-0', 'fj_dead_' || n, 'dead-' || n, 1, 'finalize', 'finalization', 'dead_letter', code, code, 5, \
             false, true, t, t, t, t from generate_series($1, $2 - 1) n, \
             lateral (select now() - make_interval(secs => n / 10.0) t, ($3::text[])[1 + n % 5] as code) x",
    )
    .bind(from)
    .bind(to)
    .bind(CAUSES.as_slice())
    .execute(&setup.pool)
    .await
    .unwrap();
    let count = "with counted as (select dead_code, count(*) as jobs from finalization_jobs \
             where status = 'dead_letter' group by 1), \
         by_code as (insert into dead_letter_totals (code, settled, stripe, jobs) \
             select dead_code, false, 0, jobs from counted \
             on conflict (code, settled, stripe) do update set jobs = excluded.jobs) \
         update finalization_totals set jobs = (select sum(jobs) from counted) \
             where status = 'dead_letter' and stripe = 0";
    sqlx::raw_sql(count).execute(&setup.pool).await.unwrap();
    sqlx::raw_sql("vacuum analyze finalization_jobs").execute(&setup.pool).await.unwrap();
}
