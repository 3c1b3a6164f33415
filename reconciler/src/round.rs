//! The round: at start, and then by the clock. The clock is apalis'.

use std::{sync::Arc, time::Duration};

use apalis::prelude::{Data, WorkerBuilder, WorkerError};
use apalis_cron::{CronScheduler, Schedule, Tick};
use chrono::Utc;
use ledger::{Error, Ledger};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, field::Empty};

use crate::{Metrics, Settings};

/// How long to wait before a clock that broke is set up anew.
const BROKEN_CLOCK: Duration = Duration::from_secs(1);

/// What repairs, in one process.
pub struct Reconciler {
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) stop: CancellationToken,
    /// Held by the round that is being made.
    busy: Mutex<()>,
}

impl Reconciler {
    /// A reconciler that ends what it is doing, between two rows, when `stop` is cancelled.
    pub fn new(ledger: Ledger, settings: Settings, metrics: Metrics, stop: CancellationToken) -> Self {
        Self { ledger, settings, metrics, stop, busy: Mutex::default() }
    }

    /// One round: the duties and, where this process dispatches, a pass. An error is logged here, once, and
    /// left to the next round. When a round is being made already, this one is skipped.
    pub async fn make_round(&self) {
        let Ok(_busy) = self.busy.try_lock() else {
            tracing::warn!("the last round is still being made; this one is skipped");
            return;
        };
        let span = tracing::info_span!(target: trace::TARGET, "reconcile", otel.status_code = Empty);
        let made = self.try_round().instrument(span.clone()).await;
        if made.is_err() {
            span.record("otel.status_code", "ERROR");
        }
        match made {
            Ok(()) => tracing::debug!("a round of the reconciler is done"),
            Err(error) => tracing::warn!(%error, "a round of the reconciler ended early"),
        }
    }

    async fn try_round(&self) -> Result<(), Error> {
        let duties = self.do_duties().await;
        if self.settings.dispatching {
            self.pass().await?;
        }
        duties?;
        if !self.stop.is_cancelled() {
            self.metrics.succeeded(self.ledger.round_done().await?);
        }
        Ok(())
    }
}

/// Makes a round at start and at every tick of `schedule` (UTC), until `stop`. Any `apalis_cron::Schedule`
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
    let reconciler = Arc::new(Reconciler::new(ledger, settings, metrics, stop.clone()));
    reconciler.make_round().await;
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

/// A round is spawned: one that panics ends nothing, and one that takes long does not keep the clock from being read.
async fn on_tick(_: Tick<Utc>, reconciler: Data<Arc<Reconciler>>) {
    let reconciler = Arc::clone(&reconciler);
    if tokio::spawn(async move { reconciler.make_round().await }).await.is_err() {
        tracing::error!("a round of the reconciler panicked");
    }
}
