//! A case per guard of `why`, and its agreement with the claim.

use job::{FailureCode, Job, Refusal, State, Surroundings, Why, WorkerId, decide, why};

use crate::fixture::{
    at, claim, completed, dead, fail, granted, leased, one_of_each, parked, policy, queued, release,
};

/// A bell has rung, a worker lives, a slot is free.
fn healthy() -> Surroundings {
    Surroundings { bells: true, ring_at: Some(at(0)), slots: 4, ..Surroundings::default() }
}

fn asked(job: &Job, around: &Surroundings, seconds: i64) -> Why {
    why(job, around, at(seconds), &policy())
}

#[test]
fn a_job_that_would_be_taken_now_has_nothing_wrong() {
    assert_eq!(asked(&queued(), &healthy(), 1), Why::NothingWrong);
    let inline = Surroundings { bells: false, ring_at: None, ..healthy() };
    assert_eq!(asked(&queued(), &inline, 1), Why::NothingWrong, "nobody rings in the mode inline");
}

#[test]
fn a_failure_backs_off_and_a_delayed_release_waits() {
    let code = FailureCode::ModelTimeout;
    let failed = granted(&leased(), fail(1, code), 20).job;
    assert_eq!(asked(&failed, &healthy(), 21), Why::BackingOff { until: at(50), code: Some(code) });
    let released = granted(&leased(), release(1, 60), 20).job;
    assert_eq!(asked(&released, &healthy(), 79), Why::BackingOff { until: at(80), code: None });
    assert_eq!(asked(&released, &healthy(), 80), Why::NothingWrong);
}

#[test]
fn what_keeps_a_slot_from_asking_is_named_in_the_order_of_its_weight() {
    let mut around = Surroundings {
        bells: true,
        paused: Some(("olga".into(), at(5))),
        ahead: 3,
        ..Surroundings::default()
    };
    assert_eq!(asked(&queued(), &around, 9), Why::Paused { by: "olga".into(), since: at(5) });
    around.paused = None;
    assert_eq!(asked(&queued(), &around, 9), Why::NoWorkers);
    around.slots = 4;
    around.busy = 4;
    assert_eq!(asked(&queued(), &around, 9), Why::BellLost { repaired_at: Some(at(300)) });
    around.ring_at = Some(at(10));
    assert_eq!(asked(&queued(), &around, 9), Why::BellPutOff { until: at(10) });
    assert_eq!(asked(&queued(), &around, 10), Why::SlotsTaken { slots: 4, ahead: 3 });
    around.busy = 3;
    assert_eq!(asked(&queued(), &around, 10), Why::Behind { ahead: 3 });
    around.ahead = 0;
    assert_eq!(asked(&queued(), &around, 10), Why::NothingWrong);
}

#[test]
fn a_lease_runs_until_it_expires_and_then_waits_for_the_watch() {
    let worker = WorkerId("one".into());
    assert_eq!(asked(&leased(), &healthy(), 39), Why::Running { worker: worker.clone(), until: at(40) });
    let around = Surroundings { holder_seen_at: Some(at(12)), ..healthy() };
    let expired = Why::LeaseExpired { worker, at: at(40), seen_at: Some(at(12)) };
    assert_eq!(asked(&leased(), &around, 40), expired);
}

#[test]
fn a_parked_job_says_since_when_and_until_when() {
    let fortnight = 14 * 86_400;
    assert_eq!(asked(&parked(), &healthy(), 5), Why::Parked { since: at(0), until: at(fortnight) });
}

#[test]
fn a_dead_letter_says_what_is_left_to_be_done() {
    let code = FailureCode::InvalidJob;
    assert_eq!(asked(&dead(), &healthy(), 30), Why::Dead { code });
    let superseded = Surroundings { superseded: true, conversation_gone: true, ..healthy() };
    assert_eq!(asked(&dead(), &superseded, 30), Why::Superseded { code });
    let gone = Surroundings { conversation_gone: true, ..healthy() };
    assert_eq!(asked(&dead(), &gone, 30), Why::ConversationGone { code });
    let settled = granted(&dead(), job::Command::Discard, 25).job;
    assert_eq!(asked(&settled, &superseded, 30), Why::Settled { code, at: at(25) });
    assert!(matches!(asked(&completed(), &healthy(), 30), Why::Done { .. }));
}

/// With nothing around that could keep a slot from asking, `why` and the claim itself must agree.
#[test]
fn the_guard_is_the_one_at_which_a_claim_stops() {
    let failed = granted(&leased(), fail(1, FailureCode::Internal), 20).job;
    for job in one_of_each().into_iter().chain([failed]) {
        for seconds in [20, 21, 39, 40, 49, 50, 301] {
            let claimed = decide(&job, claim(job.generation.0, false), at(seconds), &policy());
            let guard = asked(&job, &healthy(), seconds).guard();
            let expected = match (&claimed, &job.state) {
                (Ok(_), State::Leased(_)) => "lease_expired",
                (Ok(_), _) => "nothing_wrong",
                (Err(Refusal::LeaseHeld { .. }), _) => "running",
                (Err(Refusal::NotYet { .. }), _) => "backing_off",
                (Err(Refusal::Blocked), _) => "parked",
                (Err(Refusal::AtRest), State::DeadLetter { .. }) => "dead_letter",
                (Err(Refusal::AtRest), _) => "done",
                (Err(other), _) => panic!("{other:?}"),
            };
            assert_eq!(guard, expected, "{job:?} at {seconds}");
        }
    }
}

#[test]
fn every_answer_is_one_sentence_with_its_moments() {
    let failed = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).job;
    let words = asked(&failed, &healthy(), 21).to_string();
    assert_eq!(words, "It backs off until 2023-11-14 22:14:10Z after model_timeout.");
    let around = Surroundings { busy: 4, ahead: 1, ..healthy() };
    let words = asked(&queued(), &around, 1).to_string();
    assert_eq!(words, "All 4 slots of the living workers are taken, and 1 job comes before it.");
    let around = Surroundings { slots: 1, busy: 1, ..healthy() };
    let words = asked(&queued(), &around, 1).to_string();
    assert_eq!(words, "The only slot of the living workers is taken, and no job comes before it.");
}

#[test]
fn the_jobs_that_come_first_are_counted_in_words() {
    for (ahead, words) in [
        (0, "no job comes"),
        (1, "1 job comes"),
        (2, "2 jobs come"),
        (999, "999 jobs come"),
        (1_000, "1,000 jobs or more come"),
        (1_001, "1,000 jobs or more come"),
    ] {
        assert_eq!(Why::Behind { ahead }.to_string(), format!("It is ready; {words} before it."));
    }
}
