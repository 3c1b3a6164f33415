//! When a job must be checked.

use job::{Command, FailureCode, Job, State};

use crate::fixture::{at, completed, dead, fail, granted, leased, parked, policy, queued};

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
