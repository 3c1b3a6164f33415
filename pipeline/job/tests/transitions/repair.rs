//! The reconciler, the lease watch, and when a job is due for a check.

use job::{Command, Dispatch, Effect, Epoch, FailureCode, Generation, Job, Refusal, State};

use crate::fixture::{
    at, claim, completed, dead, dead_letter_effects, fail, granted, keyed, leased, parked, policy, queued,
    ready_at, reconcile, refused,
};

const DAY: i64 = 24 * 3_600;

#[test]
fn reconcile_dispatches_a_stale_job_again_with_its_first_ready_at() {
    assert_eq!(refused(&queued(), reconcile(false), 299), Refusal::NotDue);
    let step = granted(&queued(), reconcile(false), 300);
    assert_eq!(step.effects, [Effect::Enqueue { at: at(0) }]);
    assert_eq!(ready_at(&step.job), at(0));
    assert_eq!(
        (step.job.generation, step.job.dispatch, step.job.epoch),
        (Generation(2), Dispatch(2), Epoch(0))
    );
    assert_eq!((step.job.attempts, step.job.crashes), (0, 0));
}

#[test]
fn reconcile_does_not_repeat_a_recent_dispatch() {
    let dispatched = granted(&queued(), reconcile(false), 1_000).job;
    assert_eq!(refused(&dispatched, reconcile(false), 1_299), Refusal::NotDue);
    assert_eq!(granted(&dispatched, reconcile(false), 1_300).job.generation, Generation(3));
}

#[test]
fn reconcile_of_a_job_with_a_waiting_task_defers_the_check() {
    let step = granted(&queued(), reconcile(true), 300);
    assert_eq!(step.effects, []);
    assert_eq!(step.job, Job { next_check_at: Some(at(600)), ..queued() });
    assert_eq!(refused(&step.job, reconcile(false), 599), Refusal::NotDue);
    assert_eq!(granted(&step.job, reconcile(false), 600).job.generation, Generation(2));
}

#[test]
fn reconcile_of_an_expired_lease_counts_a_crash_and_enqueues() {
    assert_eq!(refused(&leased(), reconcile(false), 39), Refusal::NotDue);
    for task_waiting in [false, true] {
        let step = granted(&leased(), reconcile(task_waiting), 40);
        assert_eq!(step.effects, [Effect::CountRetry, Effect::Enqueue { at: at(0) }]);
        assert_eq!(ready_at(&step.job), at(0));
        assert_eq!((step.job.crashes, step.job.attempts, step.job.runs), (1, 0, 1));
        assert_eq!((step.job.generation, step.job.epoch), (Generation(2), Epoch(1)));
        assert_eq!(step.job.next_check_at, Some(at(340)));
    }
}

#[test]
fn reconcile_finding_the_fifth_crash_dead_letters_the_job() {
    let step = granted(&Job { crashes: 4, ..leased() }, reconcile(false), 40);
    assert_eq!(step.job.state, State::DeadLetter { code: FailureCode::PoisonCrash });
    assert_eq!(step.effects, dead_letter_effects(FailureCode::PoisonCrash));
    assert_eq!((step.job.crashes, step.job.last_code), (5, Some(FailureCode::PoisonCrash)));
    assert_eq!(granted(&Job { crashes: 3, ..leased() }, reconcile(false), 40).job.state.status(), "queued");
}

#[test]
fn reconcile_of_an_expired_lease_parks_a_job_that_requires_keys() {
    let step = granted(&keyed(), reconcile(false), 40);
    assert_eq!((&step.job.state, step.effects), (&State::BlockedByok, vec![Effect::CountRetry]));
    assert_eq!((step.job.crashes, step.job.generation, step.job.dispatch), (1, Generation(2), Dispatch(0)));
    assert_eq!((step.job.first_blocked_at, step.job.next_check_at), (Some(at(0)), None));
}

#[test]
fn reconcile_gives_up_a_parked_job_after_fourteen_days() {
    assert_eq!(refused(&parked(), reconcile(false), 14 * DAY - 1), Refusal::NotDue);
    let step = granted(&parked(), reconcile(false), 14 * DAY);
    assert_eq!(step.job.state, State::DeadLetter { code: FailureCode::ByokSessionAbandoned });
    assert_eq!(step.job.last_code, Some(FailureCode::ByokSessionAbandoned));
    assert_eq!(step.effects, dead_letter_effects(FailureCode::ByokSessionAbandoned));
}

#[test]
fn parking_again_does_not_restart_the_fourteen_days() {
    let resumed = granted(&parked(), claim(1, true), 13 * DAY).job;
    let parked_again = granted(&resumed, crate::fixture::park(1), 13 * DAY + 10).job;
    assert_eq!(granted(&parked_again, reconcile(false), 14 * DAY).job.state.status(), "dead_letter");
}

#[test]
fn reconcile_never_changes_terminal_jobs() {
    for job in [completed(), dead()] {
        assert_eq!(refused(&job, reconcile(false), 1_000 * DAY), Refusal::NotDue);
    }
}

#[test]
fn other_transitions_clear_the_reconcilers_next_check_at() {
    let looked = granted(&queued(), reconcile(false), 300).job;
    assert!(looked.next_check_at.is_some());
    for command in [claim(2, false), Command::RequireKeys, Command::Withdraw] {
        assert_eq!(granted(&looked, command, 310).job.next_check_at, None);
    }
}

#[test]
fn due_time_of_each_state() {
    let due = |job: &Job| job.reconcile_after_at(&policy());
    assert_eq!(due(&queued()), Some(at(300)));
    assert_eq!(due(&Job { next_check_at: Some(at(77)), ..queued() }), Some(at(77)));
    assert_eq!(due(&leased()), Some(at(40)));
    assert_eq!(due(&parked()), Some(at(14 * 24 * 3_600)));
    assert_eq!(due(&completed()), None);
    assert_eq!(due(&dead()), None);
}

#[test]
fn due_time_of_a_backing_off_job_counts_from_its_ready_at() {
    let backing_off = granted(&leased(), fail(1, FailureCode::Internal), 20).job;
    assert_eq!(backing_off.reconcile_after_at(&policy()), Some(at(50 + 300)));
}

#[test]
fn due_time_of_a_parked_job_falls_back_to_its_admission() {
    let job = Job { first_blocked_at: None, ..parked() };
    assert_eq!(job.reconcile_after_at(&policy()), Some(at(14 * 24 * 3_600)));
}

#[test]
fn due_time_of_a_withdrawn_job_is_none() {
    let job = granted(&queued(), Command::Withdraw, 1).job;
    assert!(matches!(job.state, State::Completed { .. }));
    assert_eq!(job.reconcile_after_at(&policy()), None);
}
