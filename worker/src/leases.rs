//! The registry of the leases that a worker holds. The heartbeat reports lost leases and run limits through it.

use std::collections::HashMap;
use std::sync::Arc;

use ledger::{LeaseToken, Renewal};
use parking_lot::Mutex;
use tokio::sync::watch;

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
        self.registry.0.lock().remove(&self.token);
    }
}

impl LeaseRegistry {
    /// Registers a lease, to be renewed from now on.
    pub(crate) fn hold(&self, lease: LeaseToken) -> HeldLease {
        let (sender, status) = watch::channel(None);
        self.0.lock().insert(lease.clone(), sender);
        HeldLease { token: lease, status, registry: self.clone() }
    }

    pub(crate) fn present(&self) -> Vec<LeaseToken> {
        self.0.lock().keys().cloned().collect()
    }

    pub(crate) fn notify(&self, leases: &[LeaseToken], renewals: &[Renewal]) {
        let registry = self.0.lock();
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
    pub(crate) fn notify_unanswered(&self) {
        for sender in self.0.lock().values() {
            sender.send_if_modified(|status| {
                let is_first = status.is_none();
                status.get_or_insert(LeaseStatus::Unanswered);
                is_first
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use job::{Epoch, JobId};
    use records::UserId;

    use super::*;

    fn token(epoch: i64) -> LeaseToken {
        LeaseToken { user_id: UserId::new("u"), job_id: JobId::derive("u", "c", 1), epoch: Epoch(epoch) }
    }

    #[tokio::test]
    async fn run_is_notified_of_its_own_lease_only() {
        let registry = LeaseRegistry::default();
        let (lost, overdue) = (registry.hold(token(1)), registry.hold(token(2)));
        registry.notify(&[token(2), token(1)], &[Renewal::RunLimit, Renewal::Lost]);
        lost.until(LeaseStatus::Lost).await;
        overdue.until(LeaseStatus::RunLimit).await;
        assert!(overdue.until(LeaseStatus::Lost).now_or_never().is_none());
    }

    #[tokio::test]
    async fn lease_lost_after_the_run_limit_is_reported() {
        let registry = LeaseRegistry::default();
        let held = registry.hold(token(1));
        for renewal in [Renewal::RunLimit, Renewal::Lost] {
            registry.notify(&[token(1)], &[renewal]);
        }
        held.until(LeaseStatus::Lost).await;
    }

    #[tokio::test]
    async fn unanswered_renewal_is_reported_and_hides_no_later_one() {
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
    async fn finished_run_is_not_renewed() {
        let registry = LeaseRegistry::default();
        let first = registry.hold(token(1));
        let _second = registry.hold(token(2));
        drop(first);
        assert_eq!(registry.present(), [token(2)]);
        registry.notify(&[token(1)], &[Renewal::Lost]);
    }
}
