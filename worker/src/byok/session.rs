//! The task that has the keys of one job: waits for a slot, claims, runs, and after a failure claims again.

use std::sync::Arc;
use std::time::Duration;

use job::{JobId, Policy};
use ledger::{Answer, NamedClaim, StoredJob, Transition};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::permit::{Keys, Permit};
use super::{Registry, Reservation};
use crate::observer::Ended;
use crate::run::Runner;
use crate::shared::Shared;

/// No stage begins in the last minutes of the keys: what is under way then is done before they are forgotten.
const LAST_MINUTES: Duration = Duration::from_secs(120);

/// How long a claim waits that the database did not answer.
const UNANSWERED: Duration = Duration::from_secs(1);

/// What is to be done after one go at a job.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Nothing: keys have done what they can.
    Over,
    /// Another go after this long.
    Again(Duration),
}

impl Next {
    /// Keys that will be too old by then are forgotten now: waiting would only take another user's place.
    fn within(self, keys: &Keys) -> Self {
        match self {
            Self::Again(wait) if Instant::now() + wait >= last_start(keys) => Self::Over,
            other => other,
        }
    }
}

impl Reservation {
    /// Goes on until the job has no more use for the keys, they are too old, or the process stops. What the row says
    /// is always right: parked while no run has it. `lease` is the one that its admission took; without one it is parked.
    pub(super) async fn hold(self, job: JobId, permit: Arc<Permit>, mut lease: Option<StoredJob>) {
        let Self { registry, user, mut slot, mut waiting, .. } = self;
        loop {
            let (slot, keys) = match slot.take() {
                Some(slot) => (Some(slot), permit.keys()),
                None => registry.slot(&permit).await,
            };
            drop(waiting.take());
            let next = match slot {
                Some(slot) => registry.go(&job, lease.take(), slot, &keys).await.within(&keys),
                None => Next::Over,
            };
            if registry.shared.soft.is_cancelled() {
                return;
            }
            match next {
                Next::Over if registry.permits.give_back(&job, &permit, &keys) => return,
                Next::Over => waiting = Some(registry.queue.enter(&user)),
                Next::Again(wait) => {
                    waiting = Some(registry.queue.enter(&user));
                    registry.pause(wait, &permit, &keys).await;
                }
            }
        }
    }
}

impl Registry {
    /// A free slot and the newest keys once it is there: those that come meanwhile wait in the place of older ones. No slot
    /// when these keys have got too old for a run, or the process stops.
    async fn slot(&self, entry: &Permit) -> (Option<OwnedSemaphorePermit>, Keys) {
        let mut free = std::pin::pin!(Arc::clone(&self.slots).acquire_owned());
        loop {
            let keys = entry.keys();
            tokio::select! {
                biased;
                () = self.shared.soft.cancelled() => return (None, keys),
                () = entry.renewed_since(&keys) => {}
                () = tokio::time::sleep_until(last_start(&keys)) => return (None, keys),
                slot = &mut free => return (slot.ok(), entry.keys()),
            }
        }
    }

    /// Waits for another go; newer keys end the wait.
    async fn pause(&self, wait: Duration, entry: &Permit, keys: &Keys) {
        tokio::select! {
            biased;
            () = self.shared.soft.cancelled() => {}
            () = entry.renewed_since(keys) => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// One go, in a slot: a claim, unless the lease is here already, and a run.
    async fn go(
        &self,
        job: &JobId,
        lease: Option<StoredJob>,
        slot: OwnedSemaphorePermit,
        keys: &Keys,
    ) -> Next {
        if let Some(claimed) = lease {
            return self.run(claimed, slot, keys).await;
        }
        // Claims once: while the database is unavailable, the slot is free for jobs of other shards.
        match self.shared.ledger.db().in_time(self.shared.ledger.claim_with_keys(job, &self.worker)).await {
            Ok(NamedClaim::Granted { claimed, retry }) => {
                self.shared.metrics.count_transition(retry, false);
                self.run(*claimed, slot, keys).await
            }
            // Who holds it may have died with its keys: then the job is parked before long.
            Ok(NamedClaim::Leased(wait)) => Next::Again(wait),
            Ok(NamedClaim::NotYet(wait)) => Next::Again(self.shared.chance.around(wait)),
            Ok(NamedClaim::GivenUp) => {
                self.shared.metrics.count_transition(false, true);
                Next::Over
            }
            Ok(NamedClaim::Completed | NamedClaim::Over(_)) => Next::Over,
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, "a job is claimed with its user's keys later");
                Next::Again(self.shared.chance.around(UNANSWERED))
            }
            Err(error) => {
                tracing::error!(%error, "a job is not claimed with its user's keys");
                Next::Over
            }
        }
    }

    async fn run(&self, claimed: StoredJob, slot: OwnedSemaphorePermit, keys: &Keys) -> Next {
        let attempts = claimed.job.attempts;
        let Some(engines) = (self.engines)(&keys.key) else { return self.refuse(&claimed).await };
        let _running = Running::new(self);
        let soft = self.shared.soft.child_token();
        let shared = Shared { soft: soft.clone(), ..self.shared.clone() };
        // A keyed run keeps its slot to the end: at most four of them hold keys at once.
        let run = Runner::new(shared, engines, 0).run(claimed, slot.into());
        let end = ended_in_time(keys, &soft, run).await;
        after(end, attempts, self.shared.ledger.policy(), self.shared.chance.permille(200))
    }

    /// No provider can be asked with this key: as if it had refused it.
    async fn refuse(&self, claimed: &StoredJob) -> Next {
        let (ledger, token) = (&self.shared.ledger, claimed.lease_token());
        let answer = self.shared.with_retries(|| ledger.settle(&token, Transition::Park, None)).await;
        tracing::info!(job_id = %claimed.job.id, granted = matches!(answer, Ok(Answer::Granted { .. })), "the key cannot be sent");
        Next::Over
    }
}

/// The end of `run`, which gets `soft` when no stage is to begin any more with its keys.
async fn ended_in_time<T>(keys: &Keys, soft: &CancellationToken, run: impl Future<Output = T>) -> T {
    let mut run = std::pin::pin!(run);
    tokio::select! {
        biased;
        end = &mut run => end,
        () = tokio::time::sleep_until(last_start(keys)) => {
            soft.cancel();
            run.await
        }
    }
}

/// What follows from the end of a run that began behind `attempts` failures. A failure that may pass is tried again after
/// its back-off, or when the provider asked to be asked, if that is later, and what the row says then decides; so is a job
/// that was given back because a circuit is open, after the delay. A lease that was lost to a crash of the database is
/// worth another look as well.
fn after(end: Ended, attempts: u32, policy: &Policy, jitter_permille: i32) -> Next {
    let back_off = |attempts| positive(policy.back_off_after(attempts, jitter_permille));
    match end {
        Ended::Failed { code, retry_after, dead_letter: false, .. } if code.is_retryable() => {
            Next::Again(back_off(attempts.saturating_add(1)).max(retry_after.unwrap_or_default()))
        }
        Ended::Lost => Next::Again(back_off(1)),
        // Without a delay: the process stops, or the keys are too old.
        Ended::Released { delay, .. } if !delay.is_zero() => Next::Again(delay),
        Ended::Released { .. } | Ended::Failed { .. } | Ended::Completed | Ended::Parked => Next::Over,
    }
}

/// From when on no stage begins with these keys.
fn last_start(keys: &Keys) -> Instant {
    keys.until - LAST_MINUTES
}

fn positive(wait: chrono::Duration) -> Duration {
    wait.to_std().unwrap_or_default()
}

/// Shown as running, for as long as this lives.
struct Running(prometheus::IntGauge);

impl Running {
    fn new(registry: &Registry) -> Self {
        let shown = registry.shared.metrics.keyed("running");
        shown.inc();
        Self(shown)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use job::FailureCode;
    use secrecy::SecretString;

    use super::super::permit::{KEYS_LIVE, Permits};
    use super::*;

    /// Keys that came a moment ago.
    fn keys() -> Keys {
        let key = SecretString::from("sk-1".to_owned());
        Permits::default().issue(&JobId::derive("u", "c", 1), key).keys()
    }

    #[tokio::test(start_paused = true)]
    async fn keyed_run_starts_no_stage_in_the_last_minutes_of_its_hour() {
        let (began, keys, soft) = (Instant::now(), keys(), CancellationToken::new());
        let run = ended_in_time(&keys, &soft, soft.cancelled());
        tokio::time::timeout(2 * KEYS_LIVE, run).await.unwrap();
        assert_eq!(began.elapsed(), KEYS_LIVE - LAST_MINUTES);
    }

    #[tokio::test(start_paused = true)]
    async fn keyed_run_that_ends_earlier_is_not_notified() {
        let soft = CancellationToken::new();
        assert_eq!(ended_in_time(&keys(), &soft, std::future::ready(7)).await, 7);
        assert!(!soft.is_cancelled());
    }

    #[test]
    fn keys_are_retried_where_useful_and_after_the_back_off() {
        let policy = Policy::default();
        let (first, second) = (positive(policy.back_off[0]), positive(policy.back_off[1]));
        let longer = second + Duration::from_secs(1);
        let (passing, fatal) = (FailureCode::ModelRateLimited, FailureCode::InvalidJob);
        let failed =
            |code, retry_after, dead_letter| Ended::Failed { code, retry_after, dead_letter, ready_at: None };
        let released = |delay| Ended::Released { delay, ready_at: None };
        let rows = [
            (failed(passing, None, false), Next::Again(second)),
            (failed(passing, Some(Duration::ZERO), false), Next::Again(second)),
            (failed(passing, Some(longer), false), Next::Again(longer)),
            (failed(passing, None, true), Next::Over),
            (failed(fatal, None, false), Next::Over),
            (Ended::Lost, Next::Again(first)),
            (released(Duration::ZERO), Next::Over),
            (released(longer), Next::Again(longer)),
            (Ended::Completed, Next::Over),
            (Ended::Parked, Next::Over),
        ];
        for (end, next) in rows {
            assert_eq!(after(end, 1, &policy, 0), next, "{end:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_held_for_a_retry_only_if_they_outlast_the_wait() {
        let keys = keys();
        let longest = KEYS_LIVE - LAST_MINUTES;
        let shorter = longest - Duration::from_secs(1);
        assert_eq!(Next::Again(shorter).within(&keys), Next::Again(shorter));
        assert_eq!(Next::Again(longest).within(&keys), Next::Over);
    }
}
