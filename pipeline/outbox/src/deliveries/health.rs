//! The health of an endpoint: its breaker, and when it is disabled. Decided here, and stored under the endpoint's lock.

use std::time::Duration;

use chrono::TimeDelta;
use records::Timestamp;

use super::DeliveryPolicy;
use crate::tries::Health;

/// What an endpoint's row says of its health.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct EndpointHealth {
    pub(super) enabled: bool,
    pub(super) disabled_reason: Option<String>,
    /// Since when nothing got through.
    pub(super) failing_since: Option<Timestamp>,
    pub(super) consecutive_failures: i32,
    /// Until when the breaker is open.
    pub(super) open_until: Option<Timestamp>,
    pub(super) last_success_at: Option<Timestamp>,
    pub(super) updated_at: Timestamp,
}

impl EndpointHealth {
    /// The health after a try. A success closes the breaker and ends every count of failure; a failure may open it, and
    /// after `disable_after` of nothing else it disables the endpoint; 410 disables it at once. `None`: it stays as it is.
    pub(super) fn after(&self, try_says: Health, policy: &DeliveryPolicy, now: Timestamp) -> Option<Self> {
        match try_says {
            Health::Alive => Some(Self {
                last_success_at: Some(now),
                failing_since: None,
                consecutive_failures: 0,
                open_until: None,
                ..self.clone()
            }),
            Health::Failing => {
                let failed = self.failed(now);
                let opens = failed.consecutive_failures >= policy.breaker_after;
                let open_until = if opens { Some(now + span(policy.breaker_open)) } else { self.open_until };
                let failed_before_then =
                    self.failing_since.is_some_and(|since| since <= now - span(policy.disable_after));
                let health = Self { open_until, ..failed };
                Some(if self.enabled && failed_before_then {
                    health.disabled("failing", now)
                } else {
                    health
                })
            }
            Health::Gone => Some(self.failed(now).disabled("gone", now)),
            Health::Unknown => None,
        }
    }

    fn failed(&self, now: Timestamp) -> Self {
        Self {
            failing_since: self.failing_since.or(Some(now)),
            consecutive_failures: self.consecutive_failures.saturating_add(1),
            ..self.clone()
        }
    }

    fn disabled(self, reason: &str, now: Timestamp) -> Self {
        Self { enabled: false, disabled_reason: Some(reason.to_owned()), updated_at: now, ..self }
    }
}

fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(36_500))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    const BEGUN: Timestamp = Timestamp::UNIX_EPOCH;

    fn at(seconds: i64) -> Timestamp {
        BEGUN + TimeDelta::seconds(seconds)
    }

    fn healthy() -> EndpointHealth {
        EndpointHealth {
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            consecutive_failures: 0,
            open_until: None,
            last_success_at: None,
            updated_at: BEGUN,
        }
    }

    fn policy() -> DeliveryPolicy {
        DeliveryPolicy { breaker_after: 2, ..DeliveryPolicy::default() }
    }

    #[test]
    fn the_breaker_opens_with_enough_failures_in_a_row_and_a_success_closes_it() {
        let once = healthy().after(Health::Failing, &policy(), at(1)).unwrap();
        assert_eq!((once.failing_since, once.consecutive_failures, once.open_until), (Some(at(1)), 1, None));
        let twice = once.after(Health::Failing, &policy(), at(2)).unwrap();
        assert_eq!((twice.failing_since, twice.open_until), (Some(at(1)), Some(at(62))));
        assert!(twice.enabled);
        let alive = twice.after(Health::Alive, &policy(), at(70)).unwrap();
        assert_eq!(alive, EndpointHealth { last_success_at: Some(at(70)), ..healthy() });
    }

    #[test]
    fn days_of_nothing_but_failures_disable_it_once() {
        let days = 5 * 86_400;
        let failing = EndpointHealth { failing_since: Some(at(0)), ..healthy() };
        assert!(failing.after(Health::Failing, &policy(), at(days - 1)).unwrap().enabled);
        let disabled = failing.after(Health::Failing, &policy(), at(days)).unwrap();
        assert_eq!((disabled.enabled, disabled.disabled_reason.as_deref()), (false, Some("failing")));
        assert_eq!(disabled.updated_at, at(days));
        let later = disabled.after(Health::Failing, &policy(), at(days + 9)).unwrap();
        assert_eq!(later.updated_at, at(days), "the moment at which it was disabled stays");
        let by_owner = EndpointHealth { enabled: false, disabled_reason: Some("by_owner".into()), ..failing };
        let reason = by_owner.after(Health::Failing, &policy(), at(days)).unwrap().disabled_reason;
        assert_eq!(reason.as_deref(), Some("by_owner"), "what its owner said stays");
    }

    #[test]
    fn a_410_disables_it_at_once_and_what_was_not_sent_says_nothing() {
        let gone = healthy().after(Health::Gone, &policy(), at(3)).unwrap();
        assert_eq!((gone.enabled, gone.disabled_reason.as_deref()), (false, Some("gone")));
        assert_eq!((gone.failing_since, gone.consecutive_failures), (Some(at(3)), 1));
        assert_eq!(healthy().after(Health::Unknown, &policy(), at(3)), None);
    }
}
