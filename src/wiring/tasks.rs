//! The task queue: who may deliver, what runs what is delivered, and what hands over.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use ledger::Ledger;
use prometheus::Registry;
use rand::Rng;
use tasks::{Keys, TaskQueue, Verifier, hand_over};
use tokio_util::task::TaskTracker;
use worker::DeliveredRuns;

use super::{App, chance};
use crate::{
    config::{Config, Dispatch, Role},
    lifecycle::Lifecycle,
    ports::{Deliveries, Invokers, ReconcilerQueue},
};

/// What one process has to do with a task queue.
pub(super) struct TaskParts {
    metrics: tasks::Metrics,
    keys: Option<Keys>,
    verifier: Verifier,
    /// In the dispatch mode `cloud_tasks`.
    queue: Option<TaskQueue>,
    /// Of each shard, by its number.
    runs: Vec<DeliveredRuns>,
}

impl TaskParts {
    pub(super) fn wire(
        config: &Config,
        registry: &Registry,
        worker_metrics: &worker::Metrics,
        runs: Vec<DeliveredRuns>,
    ) -> anyhow::Result<Self> {
        let metrics =
            tasks::Metrics::new(registry, worker_metrics.enqueue_failed()).context("registering metrics")?;
        let no_client = || anyhow!("making the outgoing client");
        let configured = match config.tasks.invoker() {
            None => None,
            Some((expected, url)) => {
                Some((expected, Keys::new(&url, metrics.clone()).ok_or_else(no_client)?))
            }
        };
        let keys = configured.as_ref().map(|(_, keys)| keys.clone());
        let verifier = Verifier::new(configured, Arc::new(wall_clock), metrics.clone());
        let queue = match config.finalization_dispatch_mode {
            Dispatch::CloudTasks => Some(queue(config)?),
            Dispatch::Inline | Dispatch::Postgres => None,
        };
        Ok(Self { metrics, keys, verifier, queue, runs })
    }

    /// The ports of the API.
    pub(super) fn ports(&self) -> (Arc<dyn api::Invokers>, Arc<dyn api::Deliveries>) {
        (Arc::new(Invokers(self.verifier.clone())), Arc::new(Deliveries(self.runs.clone())))
    }

    /// The queue, as the reconciler asks it.
    pub(super) fn for_reconciler(&self) -> Option<Arc<dyn reconciler::TaskQueue>> {
        let queue = self.queue.clone()?;
        Some(Arc::new(ReconcilerQueue(queue)))
    }
}

/// The task queue of these settings.
fn queue(config: &Config) -> anyhow::Result<TaskQueue> {
    let deadline = u64::try_from(config.finalization_run_timeout_seconds).unwrap_or_default();
    let settings = config.tasks.queue(Duration::from_secs(deadline));
    let settings = settings.ok_or_else(|| anyhow!("a setting of the task queue is missing"))?;
    let access = config.tasks.access().map_err(|tasks::NoCredentials| {
        anyhow!("GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read or understood")
    })?;
    TaskQueue::new(settings, access).ok_or_else(|| anyhow!("making the outgoing client"))
}

impl App {
    /// Starts what takes deliveries (roles api and worker).
    pub(crate) fn start_tasks(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        let parts = &self.tasks;
        if self.config.takes_deliveries() {
            for runs in &parts.runs {
                tasks.spawn(runs.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
            }
            // In another mode nothing is delivered but what was handed over before: its first token has the keys fetched.
            if let Some(keys) = parts.keys.clone().filter(|_| parts.queue.is_some()) {
                let stop = lifecycle.soft.clone();
                tasks.spawn(async move { keys.keep_fresh(stop).await });
            }
        }
    }

    /// Starts what hands the jobs of a shard over (roles api and reconciler).
    pub(crate) fn start_hand_over(&self, ledger: &Ledger, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        let parts = &self.tasks;
        let Some(queue) = parts.queue.clone() else { return };
        if self.config.has(Role::Api) || self.config.has(Role::Reconciler) {
            let seed = chance().next_u64();
            let stop = lifecycle.soft.clone();
            tasks.spawn(hand_over(ledger.clone(), queue, seed, parts.metrics.clone(), stop));
        }
    }
}

/// Seconds since 1970: tokens name times of the world.
fn wall_clock() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "what tokens say of time is compared with the world's")]
    let now = chrono::Utc::now();
    now.timestamp_millis() as f64 / 1e3
}
