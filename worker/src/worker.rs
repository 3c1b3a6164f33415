//! The process's worker: two queues, a heartbeat, the fan-out and pushes, from the first claim to the last release.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apalis_core::worker::{builder::WorkerBuilder, context::WorkerContext};
use futures::future::join_all;
use job::{Queue, WorkerId};
use ledger::Ledger;
use outside::Sender;
use stages::{Engines, Stages};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::JobQueue;
use crate::chance::Chance;
use crate::dispatcher::{Dispatcher, Outbound};
use crate::fan_out::{FanOut, Render};
use crate::fetcher::{Assignment, Fetcher, Running};
use crate::heartbeat::{LeaseRegistry, beat};
use crate::material::same;
use crate::metrics::Metrics;
use crate::push::Pushes;
use crate::retry::BackOff;
use crate::run::Runner;
use crate::settings::Settings;

/// How many runs of a process may wait for their commit beside those that occupy slots: one batch of the ledger.
const FINISHING: usize = 64;

/// The queues that a worker claims from.
fn queues(settings: &Settings) -> &'static [Queue] {
    match settings.claims_finalizations {
        true => &[Queue::Finalization, Queue::Creation],
        false => &[Queue::Creation],
    }
}

/// Claims, runs and completes jobs, and tells endpoints. One per process.
pub struct Worker {
    ledger: Ledger,
    engines: Engines,
    sender: Sender,
    render: Arc<dyn Render>,
    metrics: Metrics,
    settings: Settings,
    health: Health,
}

/// Whether a worker works: part of readiness. Cheap to clone; outlives the worker.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Queues>);

#[derive(Debug)]
struct Queues {
    /// How many queues the worker claims from.
    claimed: usize,
    /// How many of them have a worker that runs.
    working: AtomicUsize,
}

/// Of no worker: it never becomes healthy.
impl Default for Queues {
    fn default() -> Self {
        Self { claimed: usize::MAX, working: AtomicUsize::default() }
    }
}

impl Health {
    /// `true` while every queue of the process has a worker that runs.
    pub fn is_healthy(&self) -> bool {
        self.0.working.load(Ordering::Acquire) == self.0.claimed
    }

    fn of(queues: usize) -> Self {
        Self(Arc::new(Queues { claimed: queues, working: AtomicUsize::default() }))
    }

    fn works(&self) -> Working<'_> {
        self.0.working.fetch_add(1, Ordering::AcqRel);
        Working(self)
    }
}

/// A queue has a worker, for as long as this lives.
struct Working<'a>(&'a Health);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.0.working.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Worker {
    /// A worker that does nothing until it is run.
    pub fn new(
        ledger: Ledger,
        engines: Engines,
        sender: Sender,
        render: Arc<dyn Render>,
        metrics: Metrics,
        settings: Settings,
    ) -> Self {
        let health = Health::of(queues(&settings).len());
        Self { ledger, engines, sender, render, metrics, settings, health }
    }

    /// A handle for readiness, to be taken before [`run`](Self::run).
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Whether every queue has a worker that runs.
    pub fn is_healthy(&self) -> bool {
        self.health.is_healthy()
    }

    /// Works until stopped. `soft`: claims nothing more, lets every run reach its next checkpoint, gives back what is
    /// not done (that costs no attempt), lets tries to tell endpoints end, then returns. `hard`: drops everything and
    /// returns; what was leased is taken over when its lease expires.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        let tracker = TaskTracker::new();
        let chance = Chance::new(self.settings.seed);
        let leases = LeaseRegistry::default();
        let runner = self.runner(&leases, &chance, &soft, &hard);
        let beat =
            beat(self.ledger.clone(), leases, self.settings.heartbeat, chance.clone(), self.metrics.clone());
        let fan_out = keep(self.fan_out(&chance, &hard), &runner).keep_running(&tracker);
        let pushes = keep(self.pushes(&chance, &hard), &runner).keep_running(&tracker);
        let work = async {
            let (slots, queues) = (self.settings.slots(), queues(&self.settings).iter());
            let tend = |queue: &Queue| self.tend(*queue, slots.of(*queue), &runner, &chance, &tracker);
            let queues = join_all(queues.map(tend));
            futures::join!(queues, fan_out, pushes);
            tracker.close();
            tracker.wait().await;
        };
        tokio::select! {
            () = work => {}
            () = beat => {}
            () = hard.cancelled() => {}
        }
    }

    /// Keeps a worker of apalis running on `queue`; one that ends before the process stops is started again.
    async fn tend(
        &self,
        queue: Queue,
        slots: Arc<Semaphore>,
        runner: &Runner,
        chance: &Chance,
        tracker: &TaskTracker,
    ) {
        let mut back_off = BackOff::new(chance);
        let running = Running::default();
        while !runner.soft.is_cancelled() {
            let fetcher = self.fetcher(queue, runner, &slots, &running);
            let working = self.health.works();
            work_once(fetcher, runner.clone(), tracker.clone()).await;
            drop(working);
            if !runner.soft.is_cancelled() {
                tracing::error!(%queue, "the worker ended by itself and is started again");
                runner.soft.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
            }
        }
    }

    fn concurrency(&self, queue: Queue) -> usize {
        match queue {
            Queue::Finalization => self.settings.finalization_concurrency,
            Queue::Creation => self.settings.creation_concurrency,
        }
    }

    fn fetcher(&self, queue: Queue, runner: &Runner, slots: &Arc<Semaphore>, running: &Running) -> Fetcher {
        Fetcher {
            ledger: self.ledger.clone(),
            queue,
            worker: WorkerId(format!("{}/{queue}", self.settings.worker_name)),
            concurrency: self.concurrency(queue),
            slots: Arc::clone(slots),
            shares_slots: self.settings.shared_slots.is_some(),
            running: running.clone(),
            metrics: self.metrics.clone(),
            chance: runner.chance.clone(),
            soft: runner.soft.clone(),
            hard: runner.hard.clone(),
        }
    }

    fn runner(
        &self,
        leases: &LeaseRegistry,
        chance: &Chance,
        soft: &CancellationToken,
        hard: &CancellationToken,
    ) -> Runner {
        Runner {
            ledger: self.ledger.clone(),
            stages: Arc::new(Stages::new(self.engines.clone())),
            engines: self.engines.clone(),
            same: same(&self.engines),
            leases: leases.clone(),
            finishing: Arc::new(Semaphore::new(FINISHING)),
            metrics: self.metrics.clone(),
            observer: Arc::clone(&self.settings.observer),
            pause: self.settings.pause_after.clone(),
            grace_period: self.settings.grace_period,
            chance: chance.clone(),
            soft: soft.clone(),
            hard: hard.clone(),
        }
    }

    fn fan_out(&self, chance: &Chance, hard: &CancellationToken) -> FanOut {
        FanOut {
            ledger: self.ledger.clone(),
            sender: self.sender.clone(),
            render: Arc::clone(&self.render),
            policy: self.settings.deliveries.clone(),
            apps: self.settings.apps,
            metrics: self.metrics.clone(),
            chance: chance.clone(),
            hard: hard.clone(),
        }
    }

    fn pushes(&self, chance: &Chance, hard: &CancellationToken) -> Pushes {
        Pushes {
            ledger: self.ledger.clone(),
            sender: self.sender.clone(),
            vapid: self.settings.vapid.clone(),
            render: Arc::clone(&self.render),
            policy: self.settings.pushes.clone(),
            metrics: self.metrics.clone(),
            chance: chance.clone(),
            hard: hard.clone(),
        }
    }
}

/// Dispatchers stop when the runs do.
fn keep<E: Outbound>(outbound: E, runner: &Runner) -> Dispatcher<E> {
    Dispatcher {
        outbound,
        chance: runner.chance.clone(),
        soft: runner.soft.clone(),
        hard: runner.hard.clone(),
    }
}

/// One life of an apalis worker. Runs are the tracker's: a worker that ends takes none of them with it.
async fn work_once(fetcher: Fetcher, runner: Runner, tracker: TaskTracker) {
    let context = WorkerContext::new(&fetcher.worker.0);
    let soft = runner.soft.clone();
    let handler = move |assignment: Assignment| {
        let run = tracker.spawn(run_in_slot(runner.clone(), assignment));
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

async fn run_in_slot(runner: Runner, assignment: Assignment) {
    let Assignment { claimed, slot } = assignment;
    runner.run(claimed, slot).await;
}
