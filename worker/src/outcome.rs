//! What a receiver's answer means for a delivery or a push (DECISIONS §6).

use std::time::Duration;

use outbox::DeliveryOutcome;
use outside::{Answer, Failure};

use crate::chance::Chance;

/// Sorts an answer: 2xx is delivered, 410 disables the endpoint, other 4xx are final but for 408 and 429;
/// everything else may pass. A redirect is a failure like a server error: it is not followed, and its owner
/// may move it back.
pub(crate) fn of(answer: Answer, chance: &Chance) -> DeliveryOutcome {
    match answer {
        Answer::Status { code: status @ 200..=299, .. } => DeliveryOutcome::Delivered { status },
        Answer::Status { code: 410, .. } => DeliveryOutcome::Gone,
        Answer::Status { code: code @ (408 | 429), retry_after } => {
            again(Some(code), "status", retry_after, chance)
        }
        Answer::Status { code: code @ 400..=499, .. } => {
            DeliveryOutcome::Final { status: Some(code), error: "status" }
        }
        Answer::Status { code, retry_after } => again(Some(code), "status", retry_after, chance),
        Answer::Failed(Failure::Refused) => DeliveryOutcome::Final { status: None, error: "refused_address" },
        // Retried as a name that does not exist is: what its owner sees does not tell the two apart.
        Answer::Failed(Failure::RefusedAddress) => again(None, "refused_address", None, chance),
        Answer::Failed(Failure::Timeout) => again(None, "timeout", None, chance),
        Answer::Failed(Failure::Unreachable) => again(None, "unreachable", None, chance),
    }
}

/// What the delivery is about cannot be read at present: a defect that may be repaired before the last try.
pub(crate) fn unreadable(chance: &Chance) -> DeliveryOutcome {
    again(None, "unreadable", None, chance)
}

/// The label of what no try follows.
pub(crate) const GIVEN_UP: &str = "final";

/// The label of a try whose end is not recorded: its claim was over, or the ledger did not answer.
pub(crate) const LOST: &str = "lost";

/// The label of `listen_webhook_deliveries_total` and `listen_push_deliveries_total` for the `tries`-th try, by the waits
/// between tries: a last one that failed gives up, whatever it would have been before.
pub(crate) fn label(outcome: DeliveryOutcome, tries: i32, schedule: &[Duration]) -> &'static str {
    match outcome {
        DeliveryOutcome::Delivered { .. } => "delivered",
        DeliveryOutcome::Retry { .. } if outcome.gives_up(tries, schedule) => GIVEN_UP,
        DeliveryOutcome::Retry { .. } => "retry",
        DeliveryOutcome::Final { .. } => GIVEN_UP,
        DeliveryOutcome::Gone => "gone",
        DeliveryOutcome::Cancelled => "cancelled",
    }
}

fn again(
    status: Option<u16>,
    error: &'static str,
    retry_after: Option<Duration>,
    chance: &Chance,
) -> DeliveryOutcome {
    DeliveryOutcome::Retry { status, error, retry_after, jitter_permille: chance.permille(100) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_http_answer_maps_to_an_outcome() {
        let chance = Chance::new(5);
        let status = |code| of(Answer::Status { code, retry_after: None }, &chance);
        let first = |outcome| label(outcome, 1, &[Duration::from_secs(5)]);
        let labels: Vec<_> = [200, 204, 301, 400, 404, 408, 410, 429, 500, 503].map(status).map(first).into();
        assert_eq!(
            labels,
            ["delivered", "delivered", "retry", "final", "final", "retry", "gone", "retry", "retry", "retry"]
        );
        use Failure::{Refused, RefusedAddress, Timeout, Unreachable};
        let others = [Refused, RefusedAddress, Timeout, Unreachable]
            .map(|failure| first(of(Answer::Failed(failure), &chance)));
        assert_eq!(others, ["final", "retry", "retry", "retry"]);
    }

    #[test]
    fn last_failed_try_gives_up() {
        let schedule = [Duration::from_secs(5); 10];
        let of_try = |tries| label(of(Answer::Failed(Failure::Timeout), &Chance::new(5)), tries, &schedule);
        assert_eq!([1, 10, 11].map(of_try), ["retry", "retry", "final"]);
    }

    #[test]
    fn retry_after_is_passed_on() {
        let wish = Some(Duration::from_secs(90));
        let outcome = of(Answer::Status { code: 429, retry_after: wish }, &Chance::new(5));
        let DeliveryOutcome::Retry { status, error, retry_after, jitter_permille } = outcome else {
            unreachable!("429 is retried")
        };
        assert_eq!((status, error, retry_after), (Some(429), "status", wish));
        assert!(jitter_permille.abs() <= 100);
    }
}
