//! `has_applied` is true only for the end of a run that the job's newest claim brought about.

use job::{Command, FailureCode, Job, Outcome};

use crate::fixture::{
    claim, complete, dead, fail, granted, keyed, leased, one_of_each, park, queued, reconcile, release,
    renew, replay,
};

const CODE: FailureCode = FailureCode::ModelTimeout;

/// Whether the job, after `command`, reports it as applied.
fn repeated(job: &Job, command: Command) -> bool {
    granted(job, command.clone(), 20).job.has_applied(&command)
}

#[test]
fn has_applied_recognizes_the_granted_end_of_a_run() {
    assert!(repeated(&leased(), complete(1)));
    assert!(repeated(&leased(), fail(1, CODE)));
    assert!(repeated(&leased(), fail(1, FailureCode::InvalidJob)));
    assert!(repeated(&keyed(), park(1)));
    assert!(repeated(&leased(), release(1, 0)) && repeated(&leased(), release(1, 60)));
    assert!(granted(&leased(), complete(1), 20).job.has_applied(&renew(1)));
}

#[test]
fn has_applied_is_false_for_unchanged_jobs() {
    for job in one_of_each().into_iter().filter(|job| !job.state.is_terminal()) {
        for command in [complete(1), fail(1, CODE), park(1), renew(1), release(1, 0), replay()] {
            assert!(!job.has_applied(&command), "{command:?} of {job:?}");
        }
    }
}

#[test]
fn has_applied_is_false_for_another_claims_end() {
    let again = granted(&leased(), claim(1, false), 41).job;
    for (command, mine) in [
        (complete(2), complete(1)),
        (fail(2, CODE), fail(1, CODE)),
        (park(2), park(1)),
        (release(2, 0), release(1, 0)),
    ] {
        assert!(!granted(&again, command, 50).job.has_applied(&mine), "{mine:?}");
    }
    assert!(!granted(&again, complete(2), 50).job.has_applied(&renew(1)));
}

#[test]
fn has_applied_is_false_for_a_different_end() {
    let completed = granted(&leased(), complete(1), 20).job;
    let discarded = Command::Complete { epoch: job::Epoch(1), outcome: Outcome::Discarded };
    assert!(!completed.has_applied(&discarded));
    assert!(!completed.has_applied(&fail(1, CODE)));
    assert!(!granted(&leased(), fail(1, CODE), 20).job.has_applied(&fail(1, FailureCode::Internal)));
    let withdrawn = granted(&leased(), Command::Withdraw, 20).job;
    assert!(!withdrawn.has_applied(&renew(1)) && !withdrawn.has_applied(&complete(1)));
    assert!(!completed.has_applied(&release(1, 0)) && !withdrawn.has_applied(&release(1, 0)));
}

#[test]
fn has_applied_is_false_after_expiry_or_replay() {
    let failed_before = Job { last_code: Some(CODE), ..leased() };
    let crashed = granted(&failed_before, reconcile(false), 41).job;
    assert!(!crashed.has_applied(&fail(1, CODE)), "the watch has put it back");
    assert!(!crashed.has_applied(&release(1, 0)), "the watch has put it back");
    let replayed = granted(&dead(), replay(), 30).job;
    assert!(!replayed.has_applied(&fail(1, FailureCode::InvalidJob)));
    assert!(!replayed.has_applied(&release(1, 0)));
    assert!(!queued().has_applied(&fail(0, CODE)));
}
