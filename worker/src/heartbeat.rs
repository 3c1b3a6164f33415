//! The leases that this process holds, and the heartbeat that renews them all in one statement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ledger::{LeaseToken, Ledger, Renewal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::chance::Chance;
use crate::metrics::Metrics;
use crate::retry::BackOff;

/// What the ledger said of a lease that cannot be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseStatus {
    /// Another run has the job, or it is terminal: the run writes nothing more.
    Lost,
    /// The run limit is over: the run ends in `Fail(run_timeout)`.
    RunLimit,
    /// The database did not answer a renewal: the run goes on, and may wait for it.
    Unanswered,
}

type StatusSender = watch::Sender<Option<LeaseStatus>>;

/// The registry of this process's leases. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct LeaseRegistry(Arc<Mutex<HashMap<LeaseToken, StatusSender>>>);

/// A lease in the registry, for as long as this lives.
pub(crate) struct HeldLease {
    token: LeaseToken,
    status: watch::Receiver<Option<LeaseStatus>>,
    registry: LeaseRegistry,
}

impl HeldLease {
    /// The lease.
    pub(crate) fn lease_token(&self) -> &LeaseToken {
        &self.token
    }

    /// Waits until the heartbeat says `status`, also when it said another one before; for ever, when it never does.
    pub(crate) async fn until(&self, status: LeaseStatus) {
        let mut watched = self.status.clone();
        if watched.wait_for(|reported| *reported == Some(status)).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.token);
    }
}

impl LeaseRegistry {
    /// Registers a lease, to be renewed from now on.
    pub(crate) fn hold(&self, lease: LeaseToken) -> HeldLease {
        let (sender, status) = watch::channel(None);
        self.lock().insert(lease.clone(), sender);
        HeldLease { token: lease, status, registry: self.clone() }
    }

    fn present(&self) -> Vec<LeaseToken> {
        self.lock().keys().cloned().collect()
    }

    fn notify(&self, leases: &[LeaseToken], renewals: &[Renewal]) {
        let registry = self.lock();
        for (token, renewal) in leases.iter().zip(renewals) {
            let status = match renewal {
                // A completion that is committed is answered to the run itself, now or when it asks again.
                Renewal::Renewed { .. } | Renewal::Done => continue,
                Renewal::Lost => LeaseStatus::Lost,
                Renewal::RunLimit => LeaseStatus::RunLimit,
            };
            if let Some(sender) = registry.get(token) {
                sender.send_replace(Some(status));
            }
        }
    }

    /// Tells the runs whose lease is still theirs, as far as is known.
    fn notify_unanswered(&self) {
        for sender in self.lock().values() {
            sender.send_if_modified(|status| {
                let is_first = status.is_none();
                status.get_or_insert(LeaseStatus::Unanswered);
                is_first
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LeaseToken, StatusSender>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews all leases every `every`, for ever. After a database error it asks again sooner: what is left of
/// the leases is the time in which it must get through.
pub(crate) async fn beat(
    ledger: Ledger,
    registry: LeaseRegistry,
    every: Duration,
    chance: Chance,
    metrics: Metrics,
) {
    let mut back_off = BackOff::new(&chance);
    let mut next = Instant::now() + every;
    loop {
        sleep_until(next).await;
        let asked_at = Instant::now();
        // The runtime's threads were busy with something else.
        metrics.heartbeat_late(asked_at - next);
        let present = registry.present();
        let renewed = renewed(&ledger, &present).await;
        match &renewed {
            Ok(renewals) => registry.notify(&present, renewals),
            Err(error) => {
                tracing::warn!(%error, leases = present.len(), "leases could not be renewed");
                registry.notify_unanswered();
            }
        }
        next = next_try(renewed.is_ok(), asked_at, every, &mut back_off);
    }
}

/// When leases are renewed next: on the beat behind an answer, and sooner without one.
fn next_try(answered: bool, asked_at: Instant, every: Duration, back_off: &mut BackOff) -> Instant {
    if answered {
        back_off.reset();
        return asked_at + every;
    }
    Instant::now() + back_off.wait().min(every)
}

async fn renewed(ledger: &Ledger, present: &[LeaseToken]) -> Result<Vec<Renewal>, db::Error> {
    match present {
        [] => Ok(Vec::new()),
        _ => ledger.db().in_time(ledger.renew(present)).await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use futures::FutureExt;
    use job::{Epoch, JobId};
    use prometheus::Registry;
    use records::UserId;

    use super::*;

    fn token(epoch: i64) -> LeaseToken {
        LeaseToken { user_id: UserId::new("u"), job_id: JobId::derive("u", "c", 1), epoch: Epoch(epoch) }
    }

    #[tokio::test]
    async fn a_run_hears_of_its_own_lease_alone() {
        let registry = LeaseRegistry::default();
        let (lost, overdue) = (registry.hold(token(1)), registry.hold(token(2)));
        registry.notify(&[token(2), token(1)], &[Renewal::RunLimit, Renewal::Lost]);
        lost.until(LeaseStatus::Lost).await;
        overdue.until(LeaseStatus::RunLimit).await;
        assert!(overdue.until(LeaseStatus::Lost).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_lease_that_is_lost_after_the_run_limit_is_heard_of() {
        let registry = LeaseRegistry::default();
        let held = registry.hold(token(1));
        for renewal in [Renewal::RunLimit, Renewal::Lost] {
            registry.notify(&[token(1)], &[renewal]);
        }
        held.until(LeaseStatus::Lost).await;
    }

    #[tokio::test(start_paused = true)]
    async fn leases_that_could_not_be_renewed_are_tried_again_before_the_next_beat() {
        let (now, every) = (Instant::now(), Duration::from_secs(2));
        let mut back_off = BackOff::new(&Chance::new(3));
        let mut after_error = || next_try(false, now, every, &mut back_off) - now;
        assert!(after_error() <= Duration::from_millis(120));
        assert!((0..20).all(|_| after_error() <= every), "and never later than it");
        assert_eq!(next_try(true, now, every, &mut back_off), now + every);
        let mut after_error = || next_try(false, now, every, &mut back_off) - now;
        assert!(after_error() <= Duration::from_millis(120), "a database that answered has a new start");
    }

    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_that_ran_late_is_measured() {
        let registry = Registry::new();
        let metrics = Metrics::new(&registry).unwrap();
        let ledger = Ledger::new(db::Hosts::default(), ledger::Settings::default());
        let every = Duration::from_secs(2);
        let beating = beat(ledger, LeaseRegistry::default(), every, Chance::new(3), metrics);
        tokio::pin!(beating);
        assert!((&mut beating).now_or_never().is_none());
        // The runtime's only thread is busy for seven seconds.
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!((&mut beating).now_or_never().is_none());
        let late =
            registry.gather().into_iter().find(|family| family.name() == "listen_heartbeat_late_seconds");
        let late = late.unwrap();
        let histogram = late.get_metric()[0].get_histogram();
        assert_eq!((histogram.get_sample_count(), histogram.get_sample_sum()), (1, 5.0));
    }

    #[tokio::test]
    async fn a_renewal_without_an_answer_is_told_and_hides_no_later_one() {
        let registry = LeaseRegistry::default();
        let (held, other) = (registry.hold(token(1)), registry.hold(token(2)));
        registry.notify(&[token(2)], &[Renewal::Lost]);
        registry.notify_unanswered();
        held.until(LeaseStatus::Unanswered).await;
        other.until(LeaseStatus::Lost).await;
        registry.notify(&[token(1)], &[Renewal::Lost]);
        held.until(LeaseStatus::Lost).await;
    }

    #[tokio::test]
    async fn a_run_that_ended_is_renewed_no_more() {
        let registry = LeaseRegistry::default();
        let first = registry.hold(token(1));
        let _second = registry.hold(token(2));
        drop(first);
        assert_eq!(registry.present(), [token(2)]);
        registry.notify(&[token(1)], &[Renewal::Lost]);
    }
}
