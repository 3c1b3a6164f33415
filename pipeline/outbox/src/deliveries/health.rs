//! The health of an endpoint: that of a receiver, with its breaker.

use records::Timestamp;

use super::DeliveryPolicy;
use crate::{
    health::{Patience, ReceiverHealth, span},
    tries::Health,
};

/// What an endpoint's row says of its health.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct EndpointHealth {
    #[sqlx(flatten)]
    pub(super) receiver: ReceiverHealth,
    /// Until when the breaker is open.
    pub(super) open_until: Option<Timestamp>,
    pub(super) updated_at: Timestamp,
}

impl EndpointHealth {
    /// The health after a try. A success closes the breaker, and a failure may open it. `None`: it stays as it is.
    pub(super) fn after(&self, try_says: Health, policy: &DeliveryPolicy, now: Timestamp) -> Option<Self> {
        let receiver = self.receiver.after(try_says, Patience::For(policy.disable_after), now)?;
        let open_until = match try_says {
            Health::Alive => None,
            Health::Failing if receiver.consecutive_failures >= policy.breaker_after => {
                Some(now + span(policy.breaker_open))
            }
            _ => self.open_until,
        };
        let is_disabled_now = receiver.disabled_reason != self.receiver.disabled_reason;
        let updated_at = if is_disabled_now { now } else { self.updated_at };
        Some(Self { receiver, open_until, updated_at })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use chrono::TimeDelta;

    use super::*;

    const BEGUN: Timestamp = Timestamp::UNIX_EPOCH;

    fn at(seconds: i64) -> Timestamp {
        BEGUN + TimeDelta::seconds(seconds)
    }

    fn healthy() -> EndpointHealth {
        let receiver = ReceiverHealth {
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            consecutive_failures: 0,
            last_success_at: None,
        };
        EndpointHealth { receiver, open_until: None, updated_at: BEGUN }
    }

    #[test]
    fn breaker_opens_after_consecutive_failures_and_success_closes_it() {
        let policy = DeliveryPolicy { breaker_after: 2, ..DeliveryPolicy::default() };
        let once = healthy().after(Health::Failing, &policy, at(1)).unwrap();
        assert_eq!((once.receiver.consecutive_failures, once.open_until), (1, None));
        let twice = once.after(Health::Failing, &policy, at(2)).unwrap();
        assert_eq!(twice.open_until, Some(at(62)));
        assert!(twice.receiver.enabled);
        assert_eq!(twice.after(Health::Alive, &policy, at(70)).unwrap().open_until, None);
    }

    #[test]
    fn endpoint_keeps_its_first_disabled_at() {
        let failing = ReceiverHealth { failing_since: Some(at(0)), ..healthy().receiver };
        let failing = EndpointHealth { receiver: failing, ..healthy() };
        let (policy, days) = (DeliveryPolicy::default(), 5 * 86_400);
        assert_eq!(failing.after(Health::Failing, &policy, at(days - 1)).unwrap().updated_at, BEGUN);
        let disabled = failing.after(Health::Failing, &policy, at(days)).unwrap();
        assert_eq!((disabled.receiver.enabled, disabled.updated_at), (false, at(days)));
        let later = disabled.after(Health::Failing, &policy, at(days + 9)).unwrap();
        assert_eq!(later.updated_at, at(days));
    }
}
