//! The round: at start, and then by the clock. The clock is apalis'.

use std::{sync::Arc, time::Duration};

use apalis::prelude::{Data, WorkerBuilder, WorkerError};
use apalis_cron::{CronScheduler, Schedule, Tick};
use chrono::Utc;
use db::{Cursor, Error};
use ledger::Ledger;
use operations::Operations;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, field::Empty};

use crate::{Metrics, Settings};

/// How long to wait before a clock that broke is set up anew.
const BROKEN_CLOCK: Duration = Duration::from_secs(1);
/// How long to wait before the round at start is tried again; twice as long each time.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest of these waits.
const LAST_RETRY: Duration = Duration::from_secs(30);

/// What repairs, in one process.
pub struct Reconciler {
    pub(crate) ledger: Ledger,
    pub(crate) operations: Operations,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) stop: CancellationToken,
    /// Where the sweep of what stands in `processing` goes on, if it took longer than a round's budget.
    pub(crate) swept: Mutex<Option<Cursor>>,
    /// Held by the round that is being made.
    busy: Mutex<()>,
}

impl Reconciler {
    /// A reconciler that ends what it is doing, between two rows, when `stop` is cancelled.
    pub fn new(ledger: Ledger, settings: Settings, metrics: Metrics, stop: CancellationToken) -> Self {
        Self {
            operations: Operations::new(&ledger),
            ledger,
            settings,
            metrics,
            stop,
            swept: Mutex::default(),
            busy: Mutex::default(),
        }
    }

    /// One round of the duties. An error is logged here, once, and left to the next round. When a round is being made already, this one is skipped. Whether it was made to its
    /// end is the answer.
    pub async fn make_round(&self) -> bool {
        let Ok(_busy) = self.busy.try_lock() else {
            tracing::warn!("the last round is still being made; this one is skipped");
            return false;
        };
        let span = tracing::info_span!(target: trace::TARGET, "reconcile", otel.status_code = Empty);
        let made = self.try_round().instrument(span.clone()).await;
        if made.is_err() {
            span.record("otel.status_code", "ERROR");
        }
        match &made {
            Ok(()) => tracing::debug!("a round of the reconciler is done"),
            Err(error) => tracing::warn!(%error, "a round of the reconciler ended early"),
        }
        made.is_ok()
    }

    async fn try_round(&self) -> Result<(), Error> {
        self.do_duties().await?;
        if self.settings.records_rounds && !self.stop.is_cancelled() {
            let every = chrono::Duration::from_std(self.settings.every).unwrap_or(chrono::Duration::MAX);
            let at = self.ledger.db().in_time(self.operations.round_done(every)).await?;
            self.metrics.succeeded(self.ledger.db().shard().number, at);
        }
        Ok(())
    }
}

/// Makes a round at start, again after a short while until one succeeds, and then after every tick of `schedule` (UTC, later
/// by `Settings::apart`), until `stop`: a database that comes up after us is not left alone until the first tick. Any `apalis_cron::Schedule`
/// will do; `LISTEN_RECONCILER_CRON` is parsed into one by the caller, so that a wrong expression stops the start-up.
pub async fn run<S>(
    ledger: Ledger,
    settings: Settings,
    schedule: S,
    metrics: Metrics,
    stop: CancellationToken,
) where
    S: Schedule<Utc> + Clone + Send + Sync + Unpin + 'static,
{
    metrics.scheduled(ledger.db().shard().number, settings.every);
    let reconciler = Arc::new(Reconciler::new(ledger, settings, metrics, stop.clone()));
    until_made(|| make(Arc::clone(&reconciler)), &stop).await;
    while !stop.is_cancelled() {
        // apalis ends a worker whose clock jumped over a tick: rounds must outlive that.
        let Err(error) = tick(schedule.clone(), reconciler.clone(), stop.clone()).await else { return };
        if !stop.is_cancelled() {
            tracing::warn!(%error, "the reconciler's clock broke; it is set up anew");
            let _ = tokio::time::timeout(BROKEN_CLOCK, stop.cancelled()).await;
        }
    }
}

/// Makes rounds until `stop`; the round that is being made then ends first.
async fn tick<S>(schedule: S, reconciler: Arc<Reconciler>, stop: CancellationToken) -> Result<(), WorkerError>
where
    S: Schedule<Utc> + Send + Sync + Unpin + 'static,
{
    WorkerBuilder::new("reconciler")
        .backend(CronScheduler::new(schedule))
        .data(reconciler)
        .build(on_tick)
        .run_until(async move {
            stop.cancelled().await;
            Ok::<(), WorkerError>(())
        })
        .await
}

async fn on_tick(_: Tick<Utc>, reconciler: Data<Arc<Reconciler>>) {
    if !stops_within(reconciler.settings.apart, &reconciler.stop).await {
        make(Arc::clone(&reconciler)).await;
    }
}

/// Waits so long, or until `stop`: then that is the answer.
async fn stops_within(wait: Duration, stop: &CancellationToken) -> bool {
    tokio::time::timeout(wait, stop.cancelled()).await.is_ok()
}

/// A round is spawned: one that panics ends nothing, and one that takes long does not keep the clock from being read.
async fn make(reconciler: Arc<Reconciler>) -> bool {
    let made = tokio::spawn(async move { reconciler.make_round().await }).await;
    made.unwrap_or_else(|_| {
        tracing::error!("a round of the reconciler panicked");
        false
    })
}

/// Repeats `round` until it is made or `stop` is cancelled: at once, and after 1, 2, 4, 8, 16 and then every 30 s.
async fn until_made<M: Future<Output = bool>>(mut round: impl FnMut() -> M, stop: &CancellationToken) {
    let mut wait = FIRST_RETRY;
    while !round().await {
        if stops_within(wait, stop).await {
            return;
        }
        wait = LAST_RETRY.min(wait * 2);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::future::ready;

    use sqlx::postgres::PgConnectOptions;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn round_is_skipped_while_another_is_running() {
        // A process that stops makes no query: there is no database here.
        let stop = CancellationToken::new();
        stop.cancel();
        let ledger = Ledger::new(PgConnectOptions::new_without_pgpass(), ledger::Settings::default());
        let reconciler = Reconciler::new(ledger, Settings::default(), Metrics::uncounted(), stop);
        let another = reconciler.busy.lock().await;
        let skipped = tokio::time::timeout(Duration::from_secs(3_600), reconciler.make_round()).await;
        assert_eq!(skipped.ok(), Some(false), "it waits for the other one");
        drop(another);
        assert!(reconciler.make_round().await);
    }

    #[tokio::test(start_paused = true)]
    async fn round_at_start_is_repeated_until_it_succeeds() {
        let began = Instant::now();
        let mut at = Vec::new();
        let round = || {
            at.push(began.elapsed().as_secs());
            ready(at.len() == 8)
        };
        until_made(round, &CancellationToken::new()).await;
        assert_eq!(at, [0, 1, 3, 7, 15, 31, 61, 91]);
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_no_further_round() {
        let stop = CancellationToken::new();
        let mut rounds = 0;
        let round = || {
            rounds += 1;
            stop.cancel();
            ready(false)
        };
        until_made(round, &stop).await;
        assert_eq!(rounds, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn round_starts_a_delay_after_its_tick_unless_stopping() {
        let (began, stop) = (Instant::now(), CancellationToken::new());
        assert!(!stops_within(Duration::from_secs(20), &stop).await);
        assert_eq!(began.elapsed(), Duration::from_secs(20));
        stop.cancel();
        assert!(stops_within(Duration::from_secs(20), &stop).await);
        assert_eq!(began.elapsed(), Duration::from_secs(20));
    }
}
