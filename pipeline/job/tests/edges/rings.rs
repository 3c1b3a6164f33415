//! Whoever stores a step asks it whether a bell goes with it, and when that bell may be taken.

use job::{Effect, FailureCode, Job, Outcome};

use crate::fixture::{admission, at, claim, complete, fail, granted, leased, queued, release};

#[test]
fn only_a_ring_asks_for_a_bell_and_says_when() {
    assert_eq!(Effect::Ring { at: at(7) }.ring_at(), Some(at(7)));
    let (outcome, code) = (Outcome::Kept, FailureCode::Internal);
    for effect in [
        Effect::CompleteConversation { outcome },
        Effect::FailConversation { code },
        Effect::ReopenConversation,
        Effect::CountRetry,
        Effect::CountDeadLetter,
        Effect::RecordAction,
    ] {
        assert_eq!(effect.ring_at(), None, "{effect:?}");
    }
}

#[test]
fn a_step_rings_when_it_puts_a_job_into_its_queue() {
    assert!(Job::admit(admission(false), at(0)).rings());
    assert!(granted(&leased(), release(1, 60), 20).rings());
    assert!(granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).rings(), "behind other effects, too");
    assert!(!Job::admit(admission(true), at(0)).rings(), "a parked job rings for nobody");
    assert!(!granted(&queued(), claim(1, false), 10).rings());
    assert!(!granted(&leased(), complete(1), 20).rings());
    assert!(!granted(&leased(), fail(1, FailureCode::InvalidJob), 20).rings());
}
