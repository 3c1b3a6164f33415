//! The code that stores a step asks it whether a dispatch goes with it, and when that may be claimed.

use job::{Effect, FailureCode, Job, Outcome};

use crate::fixture::{admission, at, claim, complete, fail, granted, leased, queued, release};

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
fn queued_state_always_has_an_enqueue_effect() {
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
