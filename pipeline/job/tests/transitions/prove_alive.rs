//! `ProveAlive`: a former holder that was late takes its counted crash back.

use job::{Command, Epoch, FailureCode, Job, Refusal, State};

use crate::fixture::{
    claim, complete, completed, dead, fail, granted, keyed, leased, parked, policy, prove_alive, queued,
    reconcile, refused, release, renew, replay,
};

/// Leased at 10, found expired at 40 by the lease watch.
fn crashed() -> Job {
    granted(&leased(), reconcile(false), 40).job
}

#[test]
fn prove_alive_takes_back_the_crash_only() {
    let taken_over = granted(&leased(), claim(1, false), 40).job;
    let parked_again = granted(&keyed(), reconcile(false), 40).job;
    for job in [crashed(), taken_over, parked_again] {
        assert_eq!((job.crashes, job.crashed_epoch), (1, Some(Epoch(1))));
        let step = granted(&job, prove_alive(1), 41);
        assert_eq!(step.effects, []);
        assert_eq!(step.job, Job { crashes: 0, crashed_epoch: None, ..job });
    }
}

#[test]
fn prove_alive_leaves_the_late_holder_fenced() {
    let proven = granted(&granted(&leased(), claim(1, false), 40).job, prove_alive(1), 41).job;
    for command in [renew(1), release(1, 0), complete(1), fail(1, FailureCode::Internal)] {
        assert_eq!(refused(&proven, command, 42), Refusal::LeaseLost);
    }
}

#[test]
fn prove_alive_takes_a_crash_back_once() {
    let proven = granted(&crashed(), prove_alive(1), 41).job;
    assert_eq!(refused(&proven, prove_alive(1), 42), Refusal::LeaseLost);
}

#[test]
fn prove_alive_is_granted_to_the_last_crashed_claim_only() {
    let again = granted(&granted(&leased(), claim(1, false), 40).job, claim(1, false), 70).job;
    assert_eq!((again.crashes, again.crashed_epoch), (2, Some(Epoch(2))));
    assert_eq!(refused(&again, prove_alive(1), 71), Refusal::LeaseLost);
    assert_eq!(refused(&again, prove_alive(3), 71), Refusal::LeaseLost, "the present holder renews");
    assert_eq!(granted(&again, prove_alive(2), 71).job.crashes, 1);
}

#[test]
fn prove_alive_without_a_counted_crash_is_refused() {
    for job in [queued(), leased(), parked(), completed(), dead()] {
        assert_eq!(refused(&job, prove_alive(1), 20), Refusal::LeaseLost);
    }
}

#[test]
fn prove_alive_does_not_change_a_terminal_job() {
    let buried = granted(&Job { crashes: 4, ..leased() }, reconcile(false), 40).job;
    assert_eq!(buried.state, State::DeadLetter { code: FailureCode::PoisonCrash });
    assert_eq!(refused(&buried, prove_alive(1), 41), Refusal::LeaseLost);
    let withdrawn = granted(&crashed(), Command::Withdraw, 41).job;
    assert_eq!(refused(&withdrawn, prove_alive(1), 42), Refusal::LeaseLost);
}

#[test]
fn prove_alive_after_a_replay_is_refused() {
    let buried = granted(&Job { crashes: 4, ..leased() }, reconcile(false), 40).job;
    let replayed = granted(&buried, replay(), 50).job;
    assert_eq!((replayed.crashes, replayed.crashed_epoch), (0, None));
    assert_eq!(refused(&replayed, prove_alive(1), 51), Refusal::LeaseLost);
}

#[test]
fn prove_alive_is_bounded_so_a_starving_job_dead_letters() {
    let mut job = queued();
    let mut now = 0;
    let mut runs = 0;
    while !job.state.is_terminal() {
        job = granted(&job, claim(job.generation.0, false), now).job;
        runs += 1;
        now += 30;
        job = granted(&job, reconcile(false), now).job;
        if let Ok(step) = job::decide(&job, prove_alive(job.epoch.0), crate::fixture::at(now), &policy()) {
            job = step.job;
        }
    }
    assert_eq!(job.state, State::DeadLetter { code: FailureCode::PoisonCrash });
    assert_eq!(runs, policy().max_late_runs + policy().max_crashes);
}
