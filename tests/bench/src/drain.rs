//! Table 2: finalizations end to end, beside one-row inserts on the same server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use ledger::StoredJob;
use outbox::{ClaimedDelivery, ClaimedPush};
use outside::{Guard, Sender};
use prometheus::Registry;
use records::{ActionItem, Memory};
use store::ConversationView;
use tokio_util::sync::CancellationToken;
use worker::{Health, Metrics, Render, RunEvent, RunObserver, Settings, Worker};

use crate::{
    figures::{costs, measured, median, of},
    idle,
    setup::{Setup, WIDTH},
};

const JOBS: usize = 10_000;
const ROUNDS: usize = 3;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    let (mut floors, mut drains) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floors.push(floor(setup).await);
        let stored = setup.stored_many(&format!("drain-{round}"), JOBS).await;
        admit(setup, &stored).await;
        drains.push(measured(setup, JOBS, drain(setup)).await);
    }
    setup.forget_jobs().await;
    println!(
        "Finalization end to end, an engine that costs nothing, one worker, {WIDTH} runs at once (override: concurrency {WIDTH}), {JOBS} jobs, median of {ROUNDS} rounds\n"
    );
    println!(
        "| | per second | to one-row inserts | commits per job | WAL bytes per job | CPU ms per job (ours + server) |"
    );
    println!("|---|---|---|---|---|---|");
    let (floor, rate) = (median(floors), of(&drains, |round| round.rate));
    println!("| claim to completion | {rate:.0} | {:.2} | {} |", rate / floor, costs(&drains));
    println!("| one-row inserts, a commit each | {floor:.0} | 1 | 1.00 | | |\n");
}

async fn floor(setup: &Setup) -> f64 {
    sqlx::raw_sql("create table if not exists floor (id bigserial primary key, word text not null)")
        .execute(&setup.pool)
        .await
        .unwrap();
    let began = Instant::now();
    stream::iter(0..JOBS)
        .for_each_concurrent(WIDTH, |_| async {
            sqlx::query("insert into floor (word) values ('one row')").execute(&setup.pool).await.unwrap();
        })
        .await;
    JOBS as f64 / began.elapsed().as_secs_f64()
}

pub(crate) async fn admit(setup: &Setup, stored: &[crate::setup::Stored]) {
    stream::iter(stored)
        .for_each_concurrent(WIDTH, |(user, id)| async {
            setup.ledger.finalize(user, id, None, None).await.unwrap().unwrap();
        })
        .await;
}

/// Counts completions, and says when all are there.
#[derive(Default)]
pub(crate) struct RunCounter {
    done: AtomicUsize,
    all: CancellationToken,
}

impl RunObserver for RunCounter {
    fn observe(&self, _: &StoredJob, event: RunEvent) {
        if matches!(event, RunEvent::RunEnded { .. }) && self.done.fetch_add(1, Ordering::AcqRel) + 1 == JOBS
        {
            self.all.cancel();
        }
    }
}

pub(crate) async fn drain(setup: &Setup) {
    let tally = Arc::new(RunCounter::default());
    let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
    let running = tokio::spawn(worker(setup, tally.clone()).run(soft.clone(), hard.clone()));
    tokio::time::timeout(Duration::from_secs(120), tally.all.cancelled()).await.expect("every job is done");
    soft.cancel();
    running.await.unwrap();
    let undone =
        "select count(*) from finalization_jobs where status <> 'completed' or runs <> 1 or crashes <> 0";
    let undone: i64 = sqlx::query_scalar(undone).fetch_one(&setup.pool).await.unwrap();
    assert_eq!(undone, 0, "a run with losses is not a number");
}

/// A worker on the setup's ledger, with an engine that costs nothing.
pub(crate) fn worker(setup: &Setup, observer: Arc<dyn RunObserver>) -> Worker {
    worker_on(setup.ledger.clone(), Settings { observer, ..Settings::default() })
}

/// The same on any ledger, [`WIDTH`] runs at once.
pub(crate) fn worker_on(ledger: ledger::Ledger, settings: Settings) -> Worker {
    let sender = Sender::new(Guard::new(Vec::new())).unwrap();
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let settings = Settings { finalization_concurrency: WIDTH, creation_concurrency: WIDTH, ..settings };
    let (engines, render, health) = (idle::engines(), Arc::new(NoBodies), Health::default());
    Worker { ledger, engines, sender, render, metrics, settings, health }
}

/// Renders nothing: the bench has no endpoints.
struct NoBodies;

impl Render for NoBodies {
    fn body(
        &self,
        _: &ClaimedDelivery,
        _: Option<&ConversationView>,
        _: Option<&Memory>,
        _: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        None
    }

    fn push(&self, _: &ClaimedPush) -> Vec<u8> {
        Vec::new()
    }
}
