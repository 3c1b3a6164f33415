//! When a job must be checked.

use chrono::Duration;

use crate::{Job, Policy, State, Timestamp};

impl Job {
    /// When this job must be checked; `None` exactly when it is terminal (DESIGN §3).
    pub fn reconcile_after_at(&self, policy: &Policy) -> Option<Timestamp> {
        match &self.state {
            State::Queued { ready_at } => {
                Some(self.next_check_at.unwrap_or_else(|| later(*ready_at, policy.staleness)))
            }
            State::Leased(lease) => Some(lease.expires_at),
            State::BlockedByok => {
                // A parked job always knows since when; should a row have lost it, its admission is the
                // earliest moment that it can have been.
                let since = self.first_blocked_at.unwrap_or(self.admitted_at);
                Some(later(since, policy.byok_deadline))
            }
            State::Completed { .. } | State::DeadLetter { .. } => None,
        }
    }
}

/// `moment` plus `wait`, or the end of time: a decision is total, whatever a provider's Retry-After says.
pub(crate) fn later(moment: Timestamp, wait: Duration) -> Timestamp {
    moment.checked_add_signed(wait).unwrap_or(Timestamp::MAX_UTC)
}
