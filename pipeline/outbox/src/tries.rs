//! How a try of a delivery or of a push ended, and what follows from it: one decision for both.

use std::time::Duration;

use chrono::TimeDelta;
use records::Timestamp;

/// A receiver's Retry-After counts up to this long (DECISIONS §6).
const LONGEST_WISH: Duration = Duration::from_secs(24 * 3_600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// 2xx.
    Delivered { status: u16 },
    /// To be tried again; the schedule says when, Retry-After (at most 24 h) if longer.
    Retry {
        /// The status, if an answer came.
        status: Option<u16>,
        /// A bounded code: `timeout`, `unreachable`, `refused_address`, `status`.
        error: &'static str,
        /// The receiver's wish.
        retry_after: Option<Duration>,
        /// −100..=100 thousandths of jitter.
        jitter_permille: i32,
    },
    /// Never again: another 4xx, a redirect, or an address that is refused.
    Final {
        /// The status, if an answer came.
        status: Option<u16>,
        /// A bounded code.
        error: &'static str,
    },
    /// 410: final, and the endpoint is disabled.
    Gone,
    /// What it was about no longer exists, or apps are switched off: cancelled.
    Cancelled,
}

/// What a row becomes at the end of a try.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) status: &'static str,
    pub(crate) next_at: Option<Timestamp>,
    pub(crate) last_status: Option<u16>,
    pub(crate) last_error: Option<&'static str>,
}

/// What a try says about its receiver: an endpoint, a subscription or an audio webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Alive,
    Failing,
    Gone,
    Unknown,
}

/// What the end of the `tries`-th try means for its row, by the waits between tries.
pub(crate) fn decide(outcome: DeliveryOutcome, tries: i32, schedule: &[Duration], now: Timestamp) -> Ending {
    let end = |status, last_status, last_error| Ending { status, next_at: None, last_status, last_error };
    match outcome {
        DeliveryOutcome::Delivered { status } => end("delivered", Some(status), None),
        DeliveryOutcome::Final { status, error } => end("exhausted", status, Some(error)),
        DeliveryOutcome::Gone => end("exhausted", Some(410), Some("status")),
        DeliveryOutcome::Cancelled => end("cancelled", None, None),
        DeliveryOutcome::Retry { status, error, retry_after, jitter_permille } => {
            match wait(tries, schedule, retry_after, jitter_permille) {
                Some(wait) => Ending { next_at: Some(now + wait), ..end("pending", status, Some(error)) },
                None => end("exhausted", status, Some(error)),
            }
        }
    }
}

impl DeliveryOutcome {
    /// Whether no try follows the `tries`-th one that ended so, by the waits between tries: what was to be tried again is
    /// given up when these are used up.
    pub fn gives_up(self, tries: i32, schedule: &[Duration]) -> bool {
        match self {
            Self::Retry { retry_after, jitter_permille, .. } => {
                wait(tries, schedule, retry_after, jitter_permille).is_none()
            }
            Self::Final { .. } | Self::Gone => true,
            Self::Delivered { .. } | Self::Cancelled => false,
        }
    }

    /// What it says about its receiver.
    pub(crate) fn health(self) -> Health {
        match self {
            Self::Delivered { .. } => Health::Alive,
            // A defect of ours, or of our settings: nothing was sent.
            Self::Retry { error: "unreadable", .. } | Self::Final { error: "unconfigured", .. } => {
                Health::Unknown
            }
            Self::Retry { .. } | Self::Final { .. } => Health::Failing,
            Self::Gone => Health::Gone,
            Self::Cancelled => Health::Unknown,
        }
    }
}

/// How long after the `tries`-th try the next one comes; `None` after the last.
fn wait(
    tries: i32,
    schedule: &[Duration],
    wish: Option<Duration>,
    jitter_permille: i32,
) -> Option<TimeDelta> {
    let scheduled = schedule.get(usize::try_from(tries - 1).ok()?)?;
    let scheduled = TimeDelta::from_std(*scheduled).ok()?;
    let jittered = scheduled + scheduled * jitter_permille.clamp(-100, 100) / 1_000;
    let wish = TimeDelta::from_std(wish.unwrap_or_default().min(LONGEST_WISH)).ok()?;
    Some(jittered.max(wish))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeliveryPolicy;

    #[test]
    fn tries_schedule_ends_and_respects_a_longer_retry_after_up_to_a_day() {
        let policy = DeliveryPolicy::default();
        let seconds = |tries, wish: Option<u64>, jitter| {
            wait(tries, &policy.schedule, wish.map(Duration::from_secs), jitter)
                .map(|wait| wait.num_seconds())
        };
        assert_eq!(seconds(1, None, 0), Some(5));
        assert_eq!(seconds(2, None, 100), Some(33));
        assert_eq!(seconds(2, None, -5_000), Some(27), "jitter is cut to a tenth");
        assert_eq!(seconds(1, Some(60), 0), Some(60));
        assert_eq!(seconds(3, Some(60), 0), Some(300));
        assert_eq!(seconds(1, Some(10_000_000), 0), Some(86_400));
        assert_eq!(seconds(10, None, 0), Some(86_400));
        assert_eq!(seconds(11, None, 0), None, "ten waits, eleven tries");
    }

    #[test]
    fn tries_outcome_decides_the_row_status() {
        let now = Timestamp::UNIX_EPOCH;
        let again = DeliveryOutcome::Retry {
            status: Some(503),
            error: "status",
            retry_after: None,
            jitter_permille: 0,
        };
        let gone = DeliveryOutcome::Final { status: None, error: "refused_address" };
        let schedule = [Duration::from_secs(5)];
        for (outcome, tries, status, waits, code, error) in [
            (DeliveryOutcome::Delivered { status: 204 }, 1, "delivered", None, Some(204), None),
            (again, 1, "pending", Some(5), Some(503), Some("status")),
            (again, 2, "exhausted", None, Some(503), Some("status")),
            (gone, 1, "exhausted", None, None, Some("refused_address")),
            (DeliveryOutcome::Gone, 1, "exhausted", None, Some(410), Some("status")),
            (DeliveryOutcome::Cancelled, 1, "cancelled", None, None, None),
        ] {
            let next_at = waits.map(|seconds| now + TimeDelta::seconds(seconds));
            let ending = Ending { status, next_at, last_status: code, last_error: error };
            assert_eq!(decide(outcome, tries, &schedule, now), ending);
            assert_eq!(outcome.gives_up(tries, &schedule), status == "exhausted");
        }
    }
}
