//! Effects of transitions: enqueueing, and the effects of every dead letter.

use job::{Command, Effect, FailureCode, Job, Outcome, State};

use crate::fixture::{
    admission, at, claim, complete, dead_letter_effects, fail, granted, leased, parked, queued, reconcile,
    release,
};

#[test]
fn enqueue_is_the_only_effect_with_a_ready_at() {
    assert_eq!(Effect::Enqueue { at: at(7) }.ready_at(), Some(at(7)));
    let (outcome, code) = (Outcome::Kept, FailureCode::Internal);
    for effect in [
        Effect::CompleteConversation { outcome },
        Effect::FailConversation { code },
        Effect::ReopenConversation,
        Effect::CountRetry,
        Effect::CountDeadLetter,
        Effect::RecordAction,
    ] {
        assert_eq!(effect.ready_at(), None, "{effect:?}");
    }
}

#[test]
fn only_steps_that_queue_the_job_enqueue_it() {
    assert!(Job::admit(admission(false), at(0)).enqueues());
    assert!(granted(&leased(), release(1, 60), 20).enqueues());
    assert!(
        granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).enqueues(),
        "behind other effects, too"
    );
    assert!(!Job::admit(admission(true), at(0)).enqueues(), "a parked job is in no queue");
    assert!(!granted(&queued(), claim(1, false), 10).enqueues());
    assert!(!granted(&leased(), complete(1), 20).enqueues());
    assert!(!granted(&leased(), fail(1, FailureCode::InvalidJob), 20).enqueues());
}

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
