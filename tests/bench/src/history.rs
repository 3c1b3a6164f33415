//! Table 4: what finished jobs cost: the gauges of `/metrics`, a reconciler's page and what operators look at, on a long
//! history against a short one.

use std::time::Instant;

use operations::Operations;

use crate::{
    figures::median,
    operators::{self, Looked},
    setup::Setup,
};

/// Finished jobs.
const SHORT: i64 = 1_000;
const LONG: i64 = 1_000_000;
/// Dead letters, of which operators look at a page beside that history: the short one has 1,000 jobs in all.
const FEW: i64 = 500;
const MANY: i64 = 100_000;
const LOOKS: usize = 21;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    setup.forget_jobs().await;
    finished(setup, 0, SHORT).await;
    let short = looks(setup).await;
    finished(setup, SHORT, LONG).await;
    let long = looks(setup).await;
    println!("| with finished jobs | {SHORT} | {LONG} | ratio |");
    println!("|---|---|---|---|");
    for (name, short, long) in
        [("gauges, ms", short.0, long.0), ("due page and lease watch, ms", short.1, long.1)]
    {
        println!("| {name} | {short:.2} | {long:.2} | {:.2} |", long / short);
    }
    println!();
    operators(setup).await;
}

/// The same of what operators look at, with dead letters besides.
async fn operators(setup: &Setup) {
    setup.forget_jobs().await;
    let short = on_history(setup, (0, SHORT - FEW), (0, FEW)).await;
    let long = on_history(setup, (SHORT - FEW, LONG), (FEW, MANY)).await;
    println!(
        "| with finished jobs and dead letters | {} and {FEW} | {} and {MANY} | ratio |",
        SHORT - FEW,
        LONG
    );
    println!("|---|---|---|---|");
    for ((name, short), (_, long)) in short.iter().zip(&long) {
        println!("| {name} | {short:.2} | {long:.2} | {:.2} |", long / short);
    }
    println!();
}

async fn on_history(setup: &Setup, done: (i64, i64), dead: (i64, i64)) -> Looked {
    finished(setup, done.0, done.1).await;
    operators::dead_letters(setup, dead.0, dead.1).await;
    operators::looks(setup, dead.1).await
}

async fn looks(setup: &Setup) -> (f64, f64) {
    let (mut gauges, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        let began = Instant::now();
        let read = Operations::new(&setup.ledger).gauges().await.unwrap();
        gauges.push(began.elapsed().as_secs_f64() * 1e3);
        assert_eq!(read.jobs.len(), 5, "all five statuses are always there");
        if gauges.len() == 1 {
            recounted(setup, &read.jobs).await;
        }
        let began = Instant::now();
        setup.ledger.due_page(None, 100).await.unwrap();
        setup.ledger.expired_leases(None, 100).await.unwrap();
        pages.push(began.elapsed().as_secs_f64() * 1e3);
    }
    (median(gauges), median(pages))
}

/// The gauges equal a recount.
async fn recounted(setup: &Setup, jobs: &[(&'static str, i64)]) {
    let counted: Vec<(String, i64)> =
        sqlx::query_as("select status, count(*) from finalization_jobs group by status")
            .fetch_all(&setup.pool)
            .await
            .unwrap();
    for (status, count) in jobs {
        let there = counted.iter().find(|(name, _)| name == status).map_or(0, |(_, count)| *count);
        assert_eq!(*count, there, "{status}");
    }
}

async fn finished(setup: &Setup, from: i64, to: i64) {
    sqlx::query(
        "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, \
             requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
         select 'bench-0', 'fj_history_' || n, 'history-' || n, 1, 'finalize', 'finalization', 'completed', 'kept', \
             false, true, t, t, t, t from generate_series($1, $2 - 1) n, \
             lateral (select now() - make_interval(secs => n / 100.0) t) times",
    )
    .bind(from)
    .bind(to)
    .execute(&setup.pool)
    .await
    .unwrap();
    sqlx::query("update finalization_totals set jobs = jobs + $1 where status = 'completed' and stripe = 0")
        .bind(to - from)
        .execute(&setup.pool)
        .await
        .unwrap();
    sqlx::raw_sql("vacuum analyze finalization_jobs").execute(&setup.pool).await.unwrap();
}
