//! The process's worker: two queues, a heartbeat, webhook deliveries and pushes, from the first claim to the last release.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apalis_core::worker::{builder::WorkerBuilder, context::WorkerContext};
use futures::future::join_all;
use job::{Queue, WorkerId};
use ledger::Ledger;
use outside::Sender;
use stages::Engines;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::JobQueue;
use crate::dispatcher::Dispatcher;
use crate::fan_out::{FanOut, Render};
use crate::fetcher::{Assignment, Fetcher};
use crate::metrics::Metrics;
use crate::push::Pushes;
use crate::retry::BackOff;
use crate::run::Runner;
use crate::run_slots::Running;
use crate::settings::Settings;
use crate::shared::Shared;

/// How many runs of a process may wait for their commit beside those that occupy slots: one batch of the ledger.
const FINISHING: usize = 64;

/// The queues that a worker claims from.
fn queues(settings: &Settings) -> &'static [Queue] {
    match settings.claims_finalizations {
        true => &[Queue::Finalization, Queue::Creation],
        false => &[Queue::Creation],
    }
}

/// Claims, runs and completes jobs, and sends deliveries and pushes. One per process and shard. Does nothing until it is run.
pub struct Worker {
    pub ledger: Ledger,
    pub engines: Engines,
    pub sender: Sender,
    pub render: Arc<dyn Render>,
    pub metrics: Metrics,
    pub settings: Settings,
    /// A handle for readiness.
    pub health: Health,
}

/// Whether a worker works: part of readiness. Holds how many of its queues have no worker that runs. Cheap to clone; outlives
/// the worker.
#[derive(Clone, Debug)]
pub struct Health(Arc<AtomicUsize>);

/// Of a worker that does not run: it is not healthy.
impl Default for Health {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(usize::MAX)))
    }
}

impl Health {
    /// `true` while every queue of the process has a worker that runs.
    pub fn is_healthy(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    fn works(&self) -> Working<'_> {
        self.0.fetch_sub(1, Ordering::AcqRel);
        Working(self)
    }
}

/// A queue has a worker, for as long as this lives.
struct Working<'a>(&'a Health);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl Worker {
    /// Works until stopped. `soft`: claims nothing more, lets every run reach its next checkpoint, gives back what is
    /// not done (that costs no attempt), lets tries to deliver end, then returns. `hard`: drops everything and
    /// returns; what was leased is taken over when its lease expires.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        let Self { ledger, engines, sender, render, metrics, settings, health } = self;
        let (slots, tracker) = (settings.slots(), TaskTracker::new());
        health.0.store(queues(&settings).len(), Ordering::Release);
        let shared = Shared::new(ledger, metrics, settings, soft, hard);
        let runner = Runner::new(shared.clone(), engines, FINISHING);
        let deliveries =
            FanOut { shared: shared.clone(), sender: sender.clone(), render: Arc::clone(&render) };
        let deliveries = Dispatcher { shared: shared.clone(), outbound: deliveries };
        let pushes = Pushes { shared: shared.clone(), sender, render };
        let pushes = Dispatcher { shared: shared.clone(), outbound: pushes };
        let work = async {
            let tend = |queue: &Queue| tend(*queue, slots.of(*queue), &runner, &health, &tracker);
            let queues = join_all(queues(&shared.settings).iter().map(tend));
            futures::join!(queues, deliveries.keep_running(&tracker), pushes.keep_running(&tracker));
            tracker.close();
            tracker.wait().await;
        };
        shared.renew_during(work).await;
    }
}

/// Keeps a worker of apalis running on `queue`; one that ends before the process stops is started again.
async fn tend(queue: Queue, slots: Arc<Semaphore>, runner: &Runner, health: &Health, tracker: &TaskTracker) {
    let shared = &runner.shared;
    let mut back_off = BackOff::new(&shared.chance);
    let fetcher = Fetcher {
        shared: shared.clone(),
        queue,
        worker: WorkerId(format!("{}/{queue}", shared.settings.worker_name)),
        slots,
        running: Running::default(),
    };
    while !shared.soft.is_cancelled() {
        let working = health.works();
        work_once(fetcher.clone(), runner.clone(), tracker.clone()).await;
        drop(working);
        if !shared.soft.is_cancelled() {
            tracing::error!(%queue, "the worker ended by itself and is started again");
            shared.soft.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
        }
    }
}

/// One life of an apalis worker. Runs are the tracker's: a worker that ends takes none of them with it.
async fn work_once(fetcher: Fetcher, runner: Runner, tracker: TaskTracker) {
    let context = WorkerContext::new(&fetcher.worker.0);
    let soft = runner.shared.soft.clone();
    let handler = move |assignment: Assignment| {
        let run = tracker.spawn(runner.clone().run(assignment.claimed, assignment.slot));
        async move {
            // A run reports its own end to the ledger, a panic included.
            let _ = run.await;
        }
    };
    let worker = WorkerBuilder::new(&context).backend(JobQueue::new(fetcher)).build(handler);
    // Polled in this order: a worker must have started before it can be stopped.
    let stopped = async {
        soft.cancelled().await;
        context.stop()
    };
    let working = std::pin::pin!(worker.run());
    let stopped = std::pin::pin!(stopped);
    match futures::future::select(working, stopped).await {
        futures::future::Either::Left(_) => {}
        futures::future::Either::Right((_, working)) => drop(working.await),
    }
}
