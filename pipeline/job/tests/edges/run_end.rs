//! The ends of a run: completed, failed, parked.

use chrono::Duration;
use job::{Command, Effect, Epoch, FailureCode, Job, Outcome, Policy, State, Timestamp};

use crate::fixture::{at, claim, complete, fail, funeral, granted, keyed, leased, park, policy, ready_at};

fn failed_with(job: &Job, retry_after: Option<i64>, jitter_permille: i32) -> Timestamp {
    let command = Command::Fail {
        epoch: job.epoch,
        code: FailureCode::ModelRateLimited,
        retry_after: retry_after.map(Duration::seconds),
        jitter_permille,
    };
    ready_at(&granted(job, command, 20).job)
}

#[test]
fn a_completed_job_has_its_outcome_and_no_failure() {
    for outcome in [Outcome::Kept, Outcome::Discarded] {
        let stumbled = Job { last_code: Some(FailureCode::Internal), ..leased() };
        let step = granted(&stumbled, Command::Complete { epoch: Epoch(1), outcome }, 20);
        assert_eq!(step.job, Job { state: State::Completed { outcome }, last_code: None, ..leased() });
        assert_eq!(step.effects, [Effect::CompleteConversation { outcome }]);
    }
}

#[test]
fn the_holder_may_complete_after_its_lease_ran_out_while_nobody_took_over() {
    let step = granted(&leased(), complete(1), 5_000);
    assert_eq!(step.job.state, State::Completed { outcome: Outcome::Kept });
}

#[test]
fn a_retryable_failure_spends_an_attempt_and_enqueues_after_the_back_off() {
    let step = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(step.effects, [Effect::CountRetry, Effect::Enqueue { at: at(50) }]);
    assert_eq!(ready_at(&step.job), at(50));
    assert_eq!((step.job.attempts, step.job.crashes, step.job.runs), (1, 0, 1));
    assert_eq!(step.job.last_code, Some(FailureCode::ModelTimeout));
    assert_eq!(step.job.generation, leased().generation);
}

#[test]
fn each_failure_waits_longer_than_the_one_before() {
    let patient = Policy { max_attempts: 9, ..policy() };
    let waits = [0, 1, 2, 3, 4, 5].map(|attempts| {
        let job = Job { attempts, ..leased() };
        let step = job::decide(&job, fail(1, FailureCode::Internal), at(0), &patient).expect("granted");
        ready_at(&step.job)
    });
    assert_eq!(waits, [30, 120, 480, 1_800, 1_800, 1_800].map(at));
}

#[test]
fn jitter_moves_the_back_off_by_a_fifth_at_most() {
    for (jitter, expected) in [(0, 50), (200, 56), (-200, 44), (100, 53), (5_000, 56), (-5_000, 44)] {
        assert_eq!(failed_with(&leased(), None, jitter), at(expected), "jitter {jitter}");
    }
}

#[test]
fn a_provider_that_asks_for_more_patience_gets_it() {
    assert_eq!(failed_with(&leased(), Some(90), 0), at(110));
    assert_eq!(failed_with(&leased(), Some(29), 0), at(50), "but never less than the back-off");
    assert_eq!(failed_with(&leased(), Some(31), 200), at(56));
}

#[test]
fn a_wait_beyond_the_end_of_time_is_no_panic() {
    let command = Command::Fail {
        epoch: Epoch(1),
        code: FailureCode::ModelRateLimited,
        retry_after: Some(Duration::MAX),
        jitter_permille: 0,
    };
    assert_eq!(ready_at(&granted(&leased(), command, 20).job), Timestamp::MAX_UTC);
}

#[test]
fn every_code_is_retried_or_fatal_as_the_list_says() {
    use FailureCode::{
        DatabaseUnavailable, Internal, ModelMalformed, ModelRateLimited, ModelRejected, ModelTimeout,
        ModelUnavailable, RunTimeout, StageTimeout,
    };
    let retried = [
        ModelTimeout,
        ModelUnavailable,
        ModelRateLimited,
        ModelRejected,
        ModelMalformed,
        RunTimeout,
        StageTimeout,
        DatabaseUnavailable,
        Internal,
    ];
    for code in FailureCode::ALL {
        let step = granted(&leased(), fail(1, *code), 20);
        assert_eq!((step.job.attempts, step.job.last_code), (1, Some(*code)));
        if retried.contains(code) {
            assert_eq!(ready_at(&step.job), at(50), "{code}");
        } else {
            assert_eq!(step.job.state, State::DeadLetter { code: *code });
            assert_eq!(step.effects, funeral(*code), "{code}");
        }
    }
}

#[test]
fn the_fifth_failure_is_a_dead_letter() {
    let code = FailureCode::ModelTimeout;
    let fourth = granted(&Job { attempts: 3, ..leased() }, fail(1, code), 20);
    assert_eq!(fourth.job.state, State::Queued { ready_at: at(20 + 1_800) });
    let fifth = granted(&Job { attempts: 4, ..leased() }, fail(1, code), 20);
    assert_eq!(fifth.job.state, State::DeadLetter { code });
    assert_eq!((fifth.job.attempts, fifth.job.last_code), (5, Some(code)));
    assert_eq!(fifth.effects, funeral(code));
}

#[test]
fn crashes_and_attempts_do_not_eat_each_other() {
    let crashed = Job { crashes: 4, ..leased() };
    assert_eq!(granted(&crashed, fail(1, FailureCode::Internal), 20).job.state.status(), "queued");
    let stumbled = Job { attempts: 4, ..leased() };
    assert_eq!(granted(&stumbled, claim(1, false), 40).job.state.status(), "leased");
}

#[test]
fn a_failed_run_of_a_job_that_requires_keys_parks_it_without_a_bell() {
    let step = granted(&keyed(), fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(step.job.state, State::BlockedByok);
    assert_eq!(step.effects, [Effect::CountRetry]);
    assert_eq!((step.job.attempts, step.job.first_blocked_at), (1, Some(at(0))));
    let last = granted(&Job { attempts: 4, ..keyed() }, fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(last.job.state, State::DeadLetter { code: FailureCode::ModelTimeout });
}

#[test]
fn a_refused_key_parks_the_job_and_costs_no_attempt() {
    let step = granted(&keyed(), park(1), 20);
    assert_eq!((&step.job.state, step.effects), (&State::BlockedByok, vec![]));
    assert_eq!((step.job.attempts, step.job.first_blocked_at), (0, Some(at(0))));
    assert_eq!(step.job.last_code, Some(FailureCode::ByokKeyRejected));
}

#[test]
fn a_refused_key_never_leads_to_the_services_own() {
    let volunteered = granted(&crate::fixture::queued(), claim(1, true), 10).job;
    let parked = granted(&volunteered, park(1), 20).job;
    assert!(parked.requires_keys);
    assert_eq!((parked.state.status(), parked.first_blocked_at), ("blocked_byok", Some(at(20))));
}
