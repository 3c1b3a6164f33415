//! Deleting a conversation, and marking a user.

use job::{Command, FailureCode, Job, Outcome, Refusal, State};

use crate::fixture::{at, complete, completed, dead, granted, keyed, leased, parked, queued, refused};

#[test]
fn withdraw_completes_under_a_new_epoch_without_deliveries() {
    for job in [queued(), leased(), parked(), keyed()] {
        let stumbled = Job { last_code: Some(FailureCode::Internal), ..job.clone() };
        let step = granted(&stumbled, Command::Withdraw, 50);
        let state = State::Completed { outcome: Outcome::Withdrawn };
        assert_eq!(step.job, Job { state, epoch: job.epoch.next(), last_code: None, ..job });
        assert_eq!(step.effects, []);
    }
}

#[test]
fn withdraw_fences_the_running_lease() {
    let withdrawn = granted(&leased(), Command::Withdraw, 15).job;
    for epoch in [1, 2] {
        assert_eq!(refused(&withdrawn, complete(epoch), 16), Refusal::LeaseLost);
    }
}

#[test]
fn require_keys_parks_a_queued_job() {
    let step = granted(&queued(), Command::RequireKeys, 50);
    let expected =
        Job { requires_keys: true, state: State::BlockedByok, first_blocked_at: Some(at(50)), ..queued() };
    assert_eq!((step.job, step.effects), (expected, vec![]));
}

#[test]
fn require_keys_lets_a_running_job_finish() {
    let step = granted(&leased(), Command::RequireKeys, 20);
    assert_eq!((&step.job, step.effects), (&Job { requires_keys: true, ..leased() }, vec![]));
    assert_eq!(granted(&step.job, complete(1), 25).job.state.status(), "completed");
}

#[test]
fn require_keys_changes_nothing_for_a_parked_job() {
    let step = granted(&parked(), Command::RequireKeys, 50);
    assert_eq!((step.job, step.effects), (parked(), vec![]));
}

#[test]
fn terminal_jobs_refuse_user_commands() {
    assert_eq!(refused(&completed(), Command::Withdraw, 50), Refusal::AtRest);
    for job in [completed(), dead()] {
        assert_eq!(refused(&job, Command::RequireKeys, 50), Refusal::AtRest);
    }
}

#[test]
fn withdraw_settles_a_dead_letter_and_changes_nothing_else_of_it() {
    let step = granted(&dead(), Command::Withdraw, 50);
    assert_eq!((&step.job, step.effects), (&Job { settled_at: Some(at(50)), ..dead() }, vec![]));
    assert_eq!(granted(&step.job, Command::Withdraw, 60).job, step.job, "it keeps the moment");
}
