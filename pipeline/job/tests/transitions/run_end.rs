//! The ends of a run: completed, failed, parked.

use chrono::Duration;
use job::{Command, Effect, Epoch, FailureCode, Job, Outcome, Policy, State, Timestamp};

use crate::fixture::{
    at, claim, complete, dead_letter_effects, fail, granted, keyed, leased, park, policy, ready_at,
};

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
fn complete_sets_the_outcome_and_no_failure() {
    for outcome in [Outcome::Kept, Outcome::Discarded] {
        let stumbled = Job { last_code: Some(FailureCode::Internal), ..leased() };
        let step = granted(&stumbled, Command::Complete { epoch: Epoch(1), outcome }, 20);
        assert_eq!(step.job, Job { state: State::Completed { outcome }, last_code: None, ..leased() });
        assert_eq!(step.effects, [Effect::CompleteConversation { outcome }]);
    }
}

#[test]
fn complete_after_lease_expiry_is_granted_without_a_take_over() {
    let step = granted(&leased(), complete(1), 5_000);
    assert_eq!(step.job.state, State::Completed { outcome: Outcome::Kept });
}

#[test]
fn fail_retryable_spends_an_attempt_and_backs_off() {
    let step = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(step.effects, [Effect::CountRetry, Effect::Enqueue { at: at(50) }]);
    assert_eq!(ready_at(&step.job), at(50));
    assert_eq!((step.job.attempts, step.job.crashes, step.job.runs), (1, 0, 1));
    assert_eq!(step.job.last_code, Some(FailureCode::ModelTimeout));
    assert_eq!(step.job.generation, leased().generation);
}

#[test]
fn fail_back_off_grows_with_each_failure() {
    let patient = Policy { max_attempts: 9, ..policy() };
    let waits = [0, 1, 2, 3, 4, 5].map(|attempts| {
        let job = Job { attempts, ..leased() };
        let step = job::decide(&job, fail(1, FailureCode::Internal), at(0), &patient).expect("granted");
        ready_at(&step.job)
    });
    assert_eq!(waits, [30, 120, 480, 1_800, 1_800, 1_800].map(at));
}

#[test]
fn fail_back_off_jitter_is_at_most_a_fifth() {
    for (jitter, expected) in [(0, 50), (200, 56), (-200, 44), (100, 53), (5_000, 56), (-5_000, 44)] {
        assert_eq!(failed_with(&leased(), None, jitter), at(expected), "jitter {jitter}");
    }
}

#[test]
fn fail_back_off_respects_a_longer_retry_after() {
    assert_eq!(failed_with(&leased(), Some(90), 0), at(110));
    assert_eq!(failed_with(&leased(), Some(29), 0), at(50), "but never less than the back-off");
    assert_eq!(failed_with(&leased(), Some(31), 200), at(56));
}

#[test]
fn fail_back_off_saturates_at_the_last_timestamp() {
    let command = Command::Fail {
        epoch: Epoch(1),
        code: FailureCode::ModelRateLimited,
        retry_after: Some(Duration::MAX),
        jitter_permille: 0,
    };
    assert_eq!(ready_at(&granted(&leased(), command, 20).job), Timestamp::MAX_UTC);
}

#[test]
fn fail_retries_or_dead_letters_each_code_as_listed() {
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
            assert_eq!(step.effects, dead_letter_effects(*code), "{code}");
        }
    }
}

#[test]
fn fail_for_the_fifth_time_dead_letters_the_job() {
    let code = FailureCode::ModelTimeout;
    let fourth = granted(&Job { attempts: 3, ..leased() }, fail(1, code), 20);
    assert_eq!(fourth.job.state, State::Queued { ready_at: at(20 + 1_800) });
    let fifth = granted(&Job { attempts: 4, ..leased() }, fail(1, code), 20);
    assert_eq!(fifth.job.state, State::DeadLetter { code });
    assert_eq!((fifth.job.attempts, fifth.job.last_code), (5, Some(code)));
    assert_eq!(fifth.effects, dead_letter_effects(code));
}

#[test]
fn crashes_and_attempts_are_counted_separately() {
    let crashed = Job { crashes: 4, ..leased() };
    assert_eq!(granted(&crashed, fail(1, FailureCode::Internal), 20).job.state.status(), "queued");
    let stumbled = Job { attempts: 4, ..leased() };
    assert_eq!(granted(&stumbled, claim(1, false), 40).job.state.status(), "leased");
}

#[test]
fn fail_parks_a_job_that_requires_keys_without_enqueueing() {
    let step = granted(&keyed(), fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(step.job.state, State::BlockedByok);
    assert_eq!(step.effects, [Effect::CountRetry]);
    assert_eq!((step.job.attempts, step.job.first_blocked_at), (1, Some(at(0))));
    let last = granted(&Job { attempts: 4, ..keyed() }, fail(1, FailureCode::ModelTimeout), 20);
    assert_eq!(last.job.state, State::DeadLetter { code: FailureCode::ModelTimeout });
}

#[test]
fn refused_key_parks_the_job_without_an_attempt() {
    let step = granted(&keyed(), park(1), 20);
    assert_eq!((&step.job.state, step.effects), (&State::BlockedByok, vec![]));
    assert_eq!((step.job.attempts, step.job.first_blocked_at), (0, Some(at(0))));
    assert_eq!(step.job.last_code, Some(FailureCode::ByokKeyRejected));
}

#[test]
fn refused_key_never_falls_back_to_the_services_key() {
    let volunteered = granted(&crate::fixture::queued(), claim(1, true), 10).job;
    let parked = granted(&volunteered, park(1), 20).job;
    assert!(parked.requires_keys);
    assert_eq!((parked.state.status(), parked.first_blocked_at), ("blocked_byok", Some(at(20))));
}
