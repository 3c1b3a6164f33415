//! Runs of jobs that are delivered from outside, by a task queue: claimed under the ordinary rules, in slots of their own, in any process
//! that takes deliveries (DECISIONS §4, "run route").

use std::sync::Arc;
use std::time::Duration;

use job::{Generation, JobId, WorkerId};
use ledger::{Delivered, Ledger, NamedClaim, StoredJob};
use parking_lot::Mutex;
use stages::Engines;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Metrics;
use crate::observer::Ended;
use crate::run::Runner;
use crate::settings::Settings;
use crate::shared::Shared;

/// So long before the task queue gives a delivery up it is answered, whatever the run does.
const BEFORE_DEADLINE: Duration = Duration::from_secs(5);
/// How long the sender of a delivery waits for the end of a run.
const RUNNING: Duration = Duration::from_secs(30);
/// So long after a claim that the database did not answer, deliveries take no slot: shards share them.
const AWAY: Duration = Duration::from_secs(2);

/// The delivered runs of one process. Cheap to clone; [`run`](Self::run) must be running while they are used.
#[derive(Clone)]
pub struct DeliveredRuns(Arc<Inner>);

struct Inner {
    runner: Runner,
    worker: WorkerId,
    slots: Arc<Semaphore>,
    /// When the database last did not answer a claim.
    unanswered: Mutex<Option<Instant>>,
    tracker: TaskTracker,
}

impl DeliveredRuns {
    /// Nothing runs yet. Of `settings`, `finalization_concurrency` is the number of slots.
    pub fn new(ledger: Ledger, engines: Engines, metrics: Metrics, settings: &Settings) -> Self {
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let shared = Shared::new(ledger, metrics, settings.clone(), soft, hard);
        Self(Arc::new(Inner {
            // A delivery occupies its slot until it is answered: the task queue limits how many there are.
            runner: Runner::new(shared, engines, 0),
            worker: WorkerId(format!("{}/delivered", settings.worker_name)),
            slots: settings.slots().delivered,
            unanswered: Mutex::default(),
            tracker: TaskTracker::new(),
        }))
    }

    /// Renews the leases of delivered runs until stopped. `soft`: deliveries are refused, and what runs is released at its next
    /// checkpoint. `hard`: returns at once.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        self.0.runner.shared.renew_for(&self.0.tracker, soft, hard).await;
    }

    /// Claims and runs the dispatch (job, generation), and returns when the run has ended, or shortly before the task queue would give
    /// the delivery up; then the run goes on under its lease. So it does when this is dropped.
    pub async fn deliver(&self, job: &JobId, generation: Generation) -> Delivered {
        let inner = &self.0;
        let shared = &inner.runner.shared;
        // Before the claim: a stopping process waits for the run that may follow.
        let token = inner.tracker.token();
        if shared.soft.is_cancelled() {
            return Delivered::Busy;
        }
        let unanswered = *inner.unanswered.lock();
        if unanswered.is_some_and(|at| at.elapsed() < AWAY) {
            return Delivered::Busy;
        }
        let Ok(slot) = Arc::clone(&inner.slots).try_acquire_owned() else { return Delivered::Busy };
        let (ledger, worker) = (&shared.ledger, &inner.worker);
        let claim = match ledger.db().in_time(ledger.claim_delivery(job, generation, worker)).await {
            Ok(claim) => claim,
            Err(error) => {
                tracing::warn!(%error, "a delivered job could not be claimed");
                *inner.unanswered.lock() = Some(Instant::now());
                shared.metrics.count_delivery("error");
                return Delivered::Busy;
            }
        };
        shared.metrics.count_delivery(claim.answer());
        match claim {
            NamedClaim::Granted { claimed, retry } => {
                shared.metrics.count_transition(retry, false);
                let delivered = self.run_claimed(*claimed, slot).await;
                drop(token);
                delivered
            }
            NamedClaim::GivenUp => {
                shared.metrics.count_transition(false, true);
                Delivered::DeadLetter
            }
            NamedClaim::Leased(wait) => Delivered::Leased(wait),
            NamedClaim::NotYet(wait) => Delivered::NotYet(wait),
            NamedClaim::Completed => Delivered::Acked,
            NamedClaim::Over(reason) => Delivered::Dropped(reason),
        }
    }

    async fn run_claimed(&self, claimed: StoredJob, slot: OwnedSemaphorePermit) -> Delivered {
        let inner = &self.0;
        let limit = inner.runner.shared.ledger.policy().run_limit.to_std().unwrap_or(Duration::MAX);
        let runner = inner.runner.clone();
        let run = inner.tracker.spawn(async move { runner.run(claimed, slot.into()).await });
        let answer_after = limit.saturating_sub(BEFORE_DEADLINE).max(Duration::from_secs(1));
        match tokio::time::timeout(answer_after, run).await {
            Ok(Ok(end)) => {
                let delivered = after(end);
                if let Delivered::Retry(_) = delivered {
                    inner.runner.shared.metrics.count_delivery("retry");
                }
                delivered
            }
            // A run reports its own end to the ledger, a panic included; here only a stop at once is left.
            Ok(Err(_)) => Delivered::Busy,
            Err(_) => Delivered::Leased(RUNNING),
        }
    }
}

/// What the end of a run means for the sender of its delivery.
fn after(end: Ended) -> Delivered {
    match end {
        Ended::Completed => Delivered::Done,
        Ended::Failed { dead_letter: true, .. } => Delivered::DeadLetter,
        Ended::Failed { ready_at: Some(at), .. } | Ended::Released { ready_at: Some(at), .. } => {
            Delivered::Retry(at)
        }
        // It requires its user's keys by now.
        Ended::Failed { .. } | Ended::Released { .. } | Ended::Parked => Delivered::Dropped("blocked_byok"),
        // Another claim has the job, or its end was not heard: the next delivery finds out.
        Ended::Lost => Delivered::Leased(RUNNING),
    }
}

#[cfg(test)]
mod tests {
    use job::{FailureCode, Timestamp};

    use super::*;

    #[test]
    fn run_outcomes_map_to_delivery_answers() {
        let at = Timestamp::UNIX_EPOCH;
        let failed = |dead_letter, ready_at| Ended::Failed {
            code: FailureCode::ModelTimeout,
            retry_after: None,
            dead_letter,
            ready_at,
        };
        let released = |ready_at| Ended::Released { delay: Duration::ZERO, ready_at };
        let rows = [
            (Ended::Completed, Delivered::Done),
            (failed(true, None), Delivered::DeadLetter),
            (failed(false, Some(at)), Delivered::Retry(at)),
            (released(Some(at)), Delivered::Retry(at)),
            (failed(false, None), Delivered::Dropped("blocked_byok")),
            (released(None), Delivered::Dropped("blocked_byok")),
            (Ended::Parked, Delivered::Dropped("blocked_byok")),
            (Ended::Lost, Delivered::Leased(RUNNING)),
        ];
        for (end, delivered) in rows {
            assert_eq!(after(end), delivered, "{end:?}");
        }
    }
}
