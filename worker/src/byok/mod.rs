//! Runs with their users' own keys, in the process that was handed the keys (DECISIONS §4, "keyed runs").
//!
//! A key lives in this process's memory, as a secret, for one job's runs, an hour at most. The job's row knows
//! only that it requires keys: between runs it is parked, whatever waits here. So a process that ends takes
//! nothing with it but the keys, and the user brings them again.

mod permit;
mod queue;
mod session;

use std::sync::Arc;

use job::{JobId, WorkerId};
use ledger::{Ledger, StoredJob};
use records::UserId;
use secrecy::SecretString;
use stages::Engines;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::shared::Shared;

use permit::{Permit, Permits};
use queue::{Queue, Waiting};

/// Jobs whose keys wait in memory for a slot.
const MOST_WAITING: usize = 100;
/// Those of one user.
const MOST_OF_USER: usize = 25;

/// The engines that call their provider with a user's key; `None` when no provider can be asked with such a key.
pub type EnginesWithKey = Arc<dyn Fn(&SecretString) -> Option<Engines> + Send + Sync>;

/// The keyed runs of one process. Cheap to clone; [`run`](Self::run) must be running while they are used.
#[derive(Clone)]
pub struct ByokRuns {
    registry: Arc<Registry>,
}

/// What all keyed runs of the process share.
struct Registry {
    shared: Shared,
    engines: EnginesWithKey,
    worker: WorkerId,
    slots: Arc<Semaphore>,
    queue: Queue,
    permits: Permits,
    tracker: TaskTracker,
}

/// A place for one more job, kept until it is used or dropped.
pub struct Reservation {
    registry: Arc<Registry>,
    user: UserId,
    slot: Option<OwnedSemaphorePermit>,
    waiting: Option<Waiting>,
    /// A stopping process waits for those who have been given a place.
    _awaited: TaskTrackerToken,
}

impl ByokRuns {
    /// Nothing runs yet. Of `settings`, the heartbeat, the grace period, the name, the pause, the seed and the watch are used.
    pub fn new(ledger: Ledger, engines: EnginesWithKey, metrics: Metrics, settings: Settings) -> Self {
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let registry = Registry {
            engines,
            worker: WorkerId(format!("{}/keyed", settings.worker_name)),
            slots: settings.slots().keyed,
            queue: Queue::new(metrics.keyed("waiting")),
            permits: Permits::default(),
            tracker: TaskTracker::new(),
            shared: Shared::new(ledger, metrics, settings, soft, hard),
        };
        Self { registry: Arc::new(registry) }
    }

    /// Renews the leases of keyed runs until stopped. `soft`: no more places; what runs ends at its next checkpoint
    /// and is parked, what waits stays parked, and all keys are forgotten. `hard`: returns at once.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        self.registry.shared.renew_for(&self.registry.tracker, soft, hard).await;
    }

    /// A place for one more job of the user: in a free slot, or among those that wait for one. `None` when too many wait, in
    /// all or of the user, or the process is stopping.
    pub fn reserve(&self, user: &UserId) -> Option<Reservation> {
        let registry = Arc::clone(&self.registry);
        if registry.shared.soft.is_cancelled() {
            return None;
        }
        let slot = Arc::clone(&registry.slots).try_acquire_owned().ok();
        let waiting = match slot {
            Some(_) => None,
            None => Some(registry.queue.enter_below(user, MOST_WAITING, MOST_OF_USER)?),
        };
        let _awaited = registry.tracker.token();
        Some(Reservation { registry, user: user.clone(), slot, waiting, _awaited })
    }
}

impl Reservation {
    /// Under which name a lease may be taken at once; `None` while no slot is free.
    pub fn claimant(&self) -> Option<&WorkerId> {
        self.slot.as_ref().map(|_| &self.registry.worker)
    }

    /// Runs a job whose lease was taken in this place's name.
    pub fn run(self, claimed: StoredJob, key: SecretString) {
        let permit = self.registry.permits.issue(&claimed.job.id, key);
        let job = claimed.job.id.clone();
        self.begin(job, permit, Some(claimed));
    }

    /// Claims and runs a parked job as soon as a slot is free. Where this process holds keys for it already, the newer
    /// ones take their place, and what it was waiting for is over.
    pub fn wait(self, job: JobId, key: SecretString) {
        if let Some(permit) = self.registry.permits.issue_or_renew(&job, key) {
            self.begin(job, permit, None);
        }
    }

    fn begin(self, job: JobId, permit: Arc<Permit>, lease: Option<StoredJob>) {
        let tracker = self.registry.tracker.clone();
        tracker.spawn(self.hold(job, permit, lease));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::time::Duration;

    use prometheus::Registry;
    use tokio::time::Instant;

    use super::*;

    /// Keyed runs of which no slot is ever free, so that the database is never asked, and the places that are taken.
    fn full() -> (ByokRuns, Vec<Reservation>) {
        let ledger =
            Ledger::new(sqlx::postgres::PgConnectOptions::new_without_pgpass(), ledger::Settings::default());
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let runs = ByokRuns::new(ledger, Arc::new(|_| None), metrics, Settings::default());
        let slots = (0..crate::run_slots::KEYED).map(|_| runs.reserve(&UserId::new("u")).unwrap()).collect();
        (runs, slots)
    }

    /// Hands over keys for the one job of these tests, and lets its holder have its turn.
    async fn bring(runs: &ByokRuns) {
        let place = runs.reserve(&UserId::new("u")).unwrap();
        place.wait(JobId::derive("u", "c", 1), SecretString::from("sk-1".to_owned()));
        tokio::task::yield_now().await;
        assert_eq!(runs.registry.shared.metrics.keyed("waiting").get(), 1);
    }

    async fn until_queue_is_empty(runs: &ByokRuns) {
        while runs.registry.shared.metrics.keyed("waiting").get() > 0 {
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keys_without_a_slot_are_forgotten_within_an_hour() {
        let (runs, _slots) = full();
        let began = Instant::now();
        bring(&runs).await;
        until_queue_is_empty(&runs).await;
        assert!(began.elapsed() <= permit::KEYS_LIVE);
        assert!(runs.registry.permits.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn newer_keys_wait_for_a_slot_for_their_own_hour() {
        let (runs, _slots) = full();
        bring(&runs).await;
        tokio::time::sleep(permit::KEYS_LIVE / 2).await;
        let began = Instant::now();
        bring(&runs).await;
        until_queue_is_empty(&runs).await;
        let waited = began.elapsed();
        assert!(permit::KEYS_LIVE / 2 < waited && waited <= permit::KEYS_LIVE, "{waited:?}");
        assert!(runs.registry.permits.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_granted_byok_slots() {
        let (runs, slots) = full();
        let soft = CancellationToken::new();
        let running = tokio::spawn(runs.run(soft.clone(), CancellationToken::new()));
        soft.cancel();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!running.is_finished(), "a place may be used yet");
        drop(slots);
        tokio::time::timeout(Duration::from_secs(60), running).await.unwrap().unwrap();
    }
}
