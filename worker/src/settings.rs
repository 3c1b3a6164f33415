//! The numbers that a worker goes by.

use std::{sync::Arc, time::Duration};

use job::Queue;
use outbox::{DeliveryPolicy, PushPolicy};
use outside::Vapid;

use crate::observer::RunObserver;
use crate::run_slots::RunSlots;

/// How a process works (DECISIONS §7). Defaults are the documented ones.
#[derive(Clone)]
pub struct Settings {
    /// Runs at once from the queue `finalization`: 4.
    pub finalization_concurrency: usize,
    /// Whether this process claims from the queue `finalization` by itself; with a task queue its jobs are delivered.
    pub claims_finalizations: bool,
    /// Runs at once from the queue `creation`: 4.
    pub creation_concurrency: usize,
    /// The slots that workers of several shards share; `None`: this one has its own, as many as its two numbers say.
    pub shared_slots: Option<RunSlots>,
    /// How often all leases are renewed: 10 s, less than half of a lease.
    pub heartbeat: Duration,
    /// How long a run may go on towards its next checkpoint after a soft stop: 20 s, within what platforms grant. What it
    /// waits for then, a model that says nothing, is given up, and the job given back.
    pub grace_period: Duration,
    /// What this process is called in leases, so that an operator finds it: host and process id, say.
    pub worker_name: String,
    /// Waits after every end of this stage: (stage, how long). For the demo and for tests that need to
    /// catch a run in the middle; `None` otherwise.
    pub pause_after: Option<(String, Duration)>,
    /// Seeds all jitter: chance is an argument.
    pub seed: u64,
    pub deliveries: DeliveryPolicy,
    pub pushes: PushPolicy,
    /// Whether apps of third parties are sent anything (`LISTEN_APPS`).
    pub apps: bool,
    /// The sender's key for browsers' push services; without it browsers are not reminded.
    pub vapid: Option<Vapid>,
    /// Who is shown the progress of runs.
    pub observer: Arc<dyn RunObserver>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            finalization_concurrency: 4,
            claims_finalizations: true,
            creation_concurrency: 4,
            shared_slots: None,
            heartbeat: Duration::from_secs(10),
            grace_period: Duration::from_secs(20),
            worker_name: "listen".to_owned(),
            pause_after: None,
            seed: 0,
            deliveries: DeliveryPolicy::default(),
            pushes: PushPolicy::default(),
            apps: true,
            vapid: None,
            observer: Arc::new(()),
        }
    }
}

impl Settings {
    /// How many slots a queue has, free or not.
    pub(crate) fn concurrency(&self, queue: Queue) -> usize {
        match queue {
            Queue::Finalization => self.finalization_concurrency,
            Queue::Creation => self.creation_concurrency,
        }
    }

    pub(crate) fn slots(&self) -> RunSlots {
        let own = || RunSlots::new(self.finalization_concurrency, self.creation_concurrency);
        self.shared_slots.clone().unwrap_or_else(own)
    }
}
