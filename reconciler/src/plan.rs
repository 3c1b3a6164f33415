//! What follows from what was found: pure.

use std::time::Duration;

use db::Error;
use job::State;
use ledger::Answer;

job::named! {
    /// What was done to a row (`listen_reconciler_actions_total{action}`).
    Action {
        /// A queued job was dispatched again, or left because its task still waits for its turn.
        Queued = "queued",
        /// A job whose lease ran out went back to its queue.
        Recovered = "recovered",
        /// A job whose lease ran out was parked until its user brings keys.
        Parked = "parked",
        /// A job was given up.
        DeadLetter = "dead_letter",
        /// Nothing: another process was faster, or the job is gone.
        None = "none",
        /// A row that errors was deferred alone.
        Deferred = "deferred",
        /// A deferred conversation was admitted.
        Admitted = "admitted",
        /// A conversation without a live job was marked failed.
        Swept = "swept",
        /// A row whose retention is over was removed.
        Pruned = "pruned",
    }
}

impl Action {
    /// What a `Reconcile` did.
    pub(crate) fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Granted { job, retry, .. } => match job.state {
                State::DeadLetter { .. } => Self::DeadLetter,
                State::BlockedByok => Self::Parked,
                _ if *retry => Self::Recovered,
                _ => Self::Queued,
            },
            Answer::Refused(_) | Answer::Missing => Self::None,
        }
    }
}

/// What a pass does about a row that errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// The row is at fault: it is deferred, so that it stops no page, and the pass goes on.
    Defer,
    /// Something passing, perhaps a lock that another process holds: the row stays due and the pass goes
    /// on. Putting it off would delay the recovery of a lease by minutes.
    GoOn,
    /// The database does not answer: the next rows would fare no better.
    End,
}

impl OnError {
    /// `again`: the row before was not answered either. One may be the row's; two in a row are the database's. A row of which the
    /// database says that it is locked is answered.
    pub(crate) fn of(error: &Error, again: bool) -> Self {
        match error {
            Error::Unavailable { .. } if again && !error.is_of_one_row() => Self::End,
            Error::Unavailable { .. } => Self::GoOn,
            Error::Refused { .. }
            | Error::ImpossibleRow { .. }
            | Error::Unsealed { .. }
            | Error::Contended { .. }
            | Error::TooMuch
            | Error::OverBudget(_)
            | Error::Repeated
            | Error::TurnLost
            | Error::UserDeleted => Self::Defer,
        }
    }
}

/// How long a watch waits before its next look: so many seconds with up to a fifth added or taken away, so that processes do
/// not all look at the same moment. The same seed gives the same waits.
pub(crate) fn wait_before_look(seconds: u64, seed: u64, look: u64) -> Duration {
    Duration::from_millis(seconds * 800 + spread(seed, look) % (seconds * 400 + 1))
}

/// How long after the ticks that all processes hear a process of that seed begins its rounds: up to 30 s, and no more
/// than half of the time `between` two ticks.
pub fn apart(seed: u64, between: Duration) -> Duration {
    const REACH: Duration = Duration::from_secs(30);
    let reach = u64::try_from(REACH.min(between / 2).as_millis()).unwrap_or(u64::MAX - 1);
    Duration::from_millis(spread(seed, 0) % (reach + 1))
}

/// SplitMix64: enough to spread processes, and a pure function of its arguments.
fn spread(seed: u64, step: u64) -> u64 {
    let mut bits = seed.wrapping_add(step.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use job::{Admission, FailureCode, Job, JobId, Origin, Refusal};
    use records::Timestamp;

    use super::*;

    #[test]
    fn plan_defers_faulty_and_contended_rows() {
        let impossible =
            Error::ImpossibleRow { table: "finalization_jobs", id: "fj_1".to_owned(), column: "status" };
        assert_eq!(OnError::of(&impossible, false), OnError::Defer);
        assert_eq!(OnError::of(&impossible, true), OnError::Defer);
        assert_eq!(OnError::of(&Error::Contended { doing: "reconciling a job" }, true), OnError::Defer);
    }

    #[test]
    fn plan_ends_the_pass_after_two_unanswered_rows_in_a_row() {
        let unanswered = Error::from(sqlx::Error::PoolTimedOut);
        assert_eq!(OnError::of(&unanswered, false), OnError::GoOn);
        assert_eq!(OnError::of(&unanswered, true), OnError::End);
    }

    #[test]
    fn plan_maps_every_answer_to_an_action() {
        let id = JobId::derive("u", "c", 1);
        let admission = Admission { id, origin: Origin::Finalize, force_process: true, requires_keys: false };
        let admitted = Job::admit(admission, Timestamp::UNIX_EPOCH).job;
        let granted = |state, retry| {
            let job = Job { state, ..admitted.clone() };
            Answer::Granted { job, retry, dead_letter: false }
        };
        let queued = State::Queued { ready_at: Timestamp::UNIX_EPOCH };
        assert_eq!(Action::of(&granted(queued.clone(), false)), Action::Queued);
        assert_eq!(Action::of(&granted(queued, true)), Action::Recovered);
        assert_eq!(Action::of(&granted(State::BlockedByok, true)), Action::Parked);
        let dead = State::DeadLetter { code: FailureCode::PoisonCrash };
        assert_eq!(Action::of(&granted(dead, false)), Action::DeadLetter);
        assert_eq!(Action::of(&Answer::Refused(Refusal::NotDue)), Action::None);
    }

    #[test]
    fn lease_checks_are_four_to_six_seconds_apart_with_jitter() {
        let waits = |seed| (0..200).map(|look| wait_before_look(5, seed, look)).collect::<Vec<_>>();
        assert!(waits(7).iter().all(|wait| (4_000..=6_000).contains(&wait.as_millis())));
        assert_ne!(waits(7), waits(8));
        let mean = waits(7).iter().sum::<Duration>() / 200;
        assert!((4_800..=5_200).contains(&mean.as_millis()), "on average every five seconds: {mean:?}");
    }

    #[test]
    fn rounds_start_with_a_jitter_of_up_to_half_a_minute() {
        for (between, most) in [(Duration::MAX, 30_000), (Duration::from_secs(1), 500)] {
            let waits: Vec<_> = (0..200).map(|seed| apart(seed, between)).collect();
            assert!(waits.iter().all(|wait| wait.as_millis() <= most));
            let mean = waits.iter().sum::<Duration>() / 200;
            let spread = most * 4 / 10..=most * 6 / 10;
            assert!(spread.contains(&mean.as_millis()), "spread over all of it: {mean:?}");
        }
    }
}
