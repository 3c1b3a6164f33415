//! Deleting a conversation, and marking a user.

use job::{Command, FailureCode, Job, Outcome, Refusal, State};

use crate::fixture::{at, complete, completed, dead, granted, keyed, leased, parked, queued, refused};

#[test]
fn a_withdrawn_job_is_completed_under_a_new_epoch_and_tells_nobody() {
    for job in [queued(), leased(), parked(), keyed()] {
        let stumbled = Job { last_code: Some(FailureCode::Internal), ..job.clone() };
        let step = granted(&stumbled, Command::Withdraw, 50);
        let state = State::Completed { outcome: Outcome::Withdrawn };
        assert_eq!(step.job, Job { state, epoch: job.epoch.next(), last_code: None, ..job });
        assert_eq!(step.effects, []);
    }
}

#[test]
fn no_write_of_a_run_lands_after_a_withdrawal() {
    let withdrawn = granted(&leased(), Command::Withdraw, 15).job;
    for epoch in [1, 2] {
        assert_eq!(refused(&withdrawn, complete(epoch), 16), Refusal::LeaseLost);
    }
}

#[test]
fn marking_a_user_parks_a_queued_job() {
    let step = granted(&queued(), Command::RequireKeys, 50);
    let expected =
        Job { requires_keys: true, state: State::BlockedByok, first_blocked_at: Some(at(50)), ..queued() };
    assert_eq!((step.job, step.effects), (expected, vec![]));
}

#[test]
fn marking_a_user_lets_a_run_in_progress_finish() {
    let step = granted(&leased(), Command::RequireKeys, 20);
    assert_eq!((&step.job, step.effects), (&Job { requires_keys: true, ..leased() }, vec![]));
    assert_eq!(granted(&step.job, complete(1), 25).job.state.status(), "completed");
}

#[test]
fn marking_a_user_again_changes_nothing_for_a_parked_job() {
    let step = granted(&parked(), Command::RequireKeys, 50);
    assert_eq!((step.job, step.effects), (parked(), vec![]));
}

#[test]
fn terminal_jobs_are_at_rest() {
    for job in [completed(), dead()] {
        assert_eq!(refused(&job, Command::Withdraw, 50), Refusal::AtRest);
        assert_eq!(refused(&job, Command::RequireKeys, 50), Refusal::AtRest);
    }
}
