//! The effects of every dead letter.

use job::{Command, FailureCode, Job, State};

use crate::fixture::{claim, dead_letter_effects, fail, granted, leased, parked, reconcile};

#[test]
fn every_dead_letter_has_the_same_effects() {
    let worn = Job { crashes: 4, attempts: 4, ..leased() };
    let late = 14 * 24 * 3_600;
    let ways: [(Job, Command, i64, FailureCode); 5] = [
        (worn.clone(), claim(1, false), 40, FailureCode::PoisonCrash),
        (worn.clone(), reconcile(false), 40, FailureCode::PoisonCrash),
        (worn, fail(1, FailureCode::Internal), 20, FailureCode::Internal),
        (leased(), fail(1, FailureCode::NoContent), 20, FailureCode::NoContent),
        (parked(), reconcile(false), late, FailureCode::ByokSessionAbandoned),
    ];
    for (job, command, seconds, code) in ways {
        let step = granted(&job, command, seconds);
        assert_eq!(step.job.state, State::DeadLetter { code });
        assert_eq!(step.job.last_code, Some(code));
        assert_eq!(step.job.settled_at, None);
        assert_eq!(step.effects, dead_letter_effects(code));
    }
}
