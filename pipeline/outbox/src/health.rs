//! The health of a receiver, an endpoint's or an audio webhook's: what a try says of it, and after which failures it is
//! disabled. Decided here, and stored under the lock of its row.

use std::time::Duration;

use chrono::TimeDelta;
use records::Timestamp;

use crate::tries::Health;

/// What a receiver's row says of its health.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct ReceiverHealth {
    pub(crate) enabled: bool,
    pub(crate) disabled_reason: Option<String>,
    /// Since when nothing got through.
    pub(crate) failing_since: Option<Timestamp>,
    /// In a row, across all processes.
    pub(crate) consecutive_failures: i32,
    pub(crate) last_success_at: Option<Timestamp>,
}

/// How much a receiver may fail, without a success in between, until it is disabled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// For so long and so many times. Fewer failures in that time are forgotten with the next one: a receiver that refused once weeks ago
    /// and is down for a minute today is not disabled.
    For { long: Duration, times: i32 },
    /// So many times.
    Times(i32),
}

impl ReceiverHealth {
    /// The health after a try. A success ends every count of failure; a failure that is too much disables an enabled
    /// receiver, and 410 disables it at once. `None`: it stays as it is.
    pub(crate) fn after(&self, try_says: Health, patience: Patience, now: Timestamp) -> Option<Self> {
        match try_says {
            Health::Alive => Some(Self {
                last_success_at: Some(now),
                failing_since: None,
                consecutive_failures: 0,
                ..self.clone()
            }),
            Health::Failing => {
                let failed = self.failed(now);
                let is_too_much = match patience {
                    Patience::For { long, times } => {
                        let is_long = has_failed_for(long, self.failing_since, now);
                        if is_long && failed.consecutive_failures < times {
                            return Some(Self {
                                failing_since: Some(now),
                                consecutive_failures: 1,
                                ..failed
                            });
                        }
                        is_long
                    }
                    Patience::Times(most) => failed.consecutive_failures >= most,
                };
                Some(if self.enabled && is_too_much { failed.disabled("failing") } else { failed })
            }
            Health::Gone => Some(self.failed(now).disabled("gone")),
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

    fn disabled(self, reason: &str) -> Self {
        Self { enabled: false, disabled_reason: Some(reason.to_owned()), ..self }
    }
}

/// Whether nothing got through for so long, by since when.
pub(crate) fn has_failed_for(long: Duration, since: Option<Timestamp>, now: Timestamp) -> bool {
    since.is_some_and(|since| since <= now - span(long))
}

/// A setting's duration; longer than any clock, where it is out of bounds.
pub(crate) fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(36_500))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    const LONG: Patience = Patience::For { long: Duration::from_secs(100), times: 3 };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn healthy() -> ReceiverHealth {
        ReceiverHealth {
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            consecutive_failures: 0,
            last_success_at: None,
        }
    }

    #[test]
    fn health_success_resets_all_failure_counts() {
        let failing = healthy().after(Health::Failing, LONG, at(1)).unwrap();
        assert_eq!((failing.failing_since, failing.consecutive_failures), (Some(at(1)), 1));
        let alive = failing.after(Health::Alive, LONG, at(2)).unwrap();
        assert_eq!(alive, ReceiverHealth { last_success_at: Some(at(2)), ..healthy() });
    }

    #[test]
    fn health_disables_after_a_long_time_of_failures() {
        let failing = ReceiverHealth { failing_since: Some(at(0)), consecutive_failures: 2, ..healthy() };
        assert!(failing.after(Health::Failing, LONG, at(99)).unwrap().enabled);
        let seldom = ReceiverHealth { consecutive_failures: 1, ..failing.clone() };
        let anew = ReceiverHealth { failing_since: Some(at(100)), consecutive_failures: 1, ..healthy() };
        assert_eq!(seldom.after(Health::Failing, LONG, at(100)), Some(anew), "the second in a long time");
        let disabled = failing.after(Health::Failing, LONG, at(100)).unwrap();
        assert_eq!((disabled.enabled, disabled.disabled_reason.as_deref()), (false, Some("failing")));
        let by_owner = ReceiverHealth { enabled: false, disabled_reason: Some("by_owner".into()), ..failing };
        let reason = by_owner.after(Health::Failing, LONG, at(100)).unwrap().disabled_reason;
        assert_eq!(reason.as_deref(), Some("by_owner"), "what its owner said stays");
    }

    #[test]
    fn health_disables_after_enough_consecutive_failures() {
        let once = healthy().after(Health::Failing, Patience::Times(2), at(1)).unwrap();
        assert!(once.enabled);
        let twice = once.after(Health::Failing, Patience::Times(2), at(2)).unwrap();
        assert_eq!((twice.enabled, twice.disabled_reason.as_deref()), (false, Some("failing")));
        assert_eq!(twice.failing_since, Some(at(1)));
    }

    #[test]
    fn health_disables_at_once_on_410_and_ignores_unsent_tries() {
        let gone = healthy().after(Health::Gone, LONG, at(3)).unwrap();
        assert_eq!((gone.enabled, gone.disabled_reason.as_deref()), (false, Some("gone")));
        assert_eq!((gone.failing_since, gone.consecutive_failures), (Some(at(3)), 1));
        let later = gone.after(Health::Gone, LONG, at(9)).unwrap();
        assert_eq!((later.failing_since, later.consecutive_failures), (Some(at(3)), 2));
        assert_eq!(healthy().after(Health::Unknown, LONG, at(3)), None);
    }
}
