//! A case per guard of `why`, and its agreement with the claim.

use job::{FailureCode, Job, NextOwner, Queue, Refusal, State, Surroundings, Why, WorkerId, decide, why};

use crate::fixture::{
    at, claim, completed, dead, fail, granted, leased, one_of_each, parked, policy, queued, release,
};

/// A worker lives, a slot is free.
fn healthy() -> Surroundings {
    Surroundings { living: 1, slots: 4, ..Surroundings::default() }
}

fn why_of(job: &Job, around: &Surroundings, seconds: i64) -> Why {
    why(job, around, at(seconds), &policy())
}

#[test]
fn why_reports_nothing_for_a_claimable_job() {
    assert_eq!(why_of(&queued(), &healthy(), 1), Why::NothingWrong);
}

#[test]
fn why_distinguishes_back_off_from_delayed_release() {
    let code = FailureCode::ModelTimeout;
    let failed = granted(&leased(), fail(1, code), 20).job;
    assert_eq!(why_of(&failed, &healthy(), 21), Why::BackingOff { until: at(50), code: Some(code) });
    let released = granted(&leased(), release(1, 60), 20).job;
    assert_eq!(why_of(&released, &healthy(), 79), Why::BackingOff { until: at(80), code: None });
    assert_eq!(why_of(&released, &healthy(), 80), Why::NothingWrong);
}

#[test]
fn why_names_claim_obstacles_by_weight() {
    let mut around =
        Surroundings { paused: Some(("olga".into(), at(5))), ahead: 3, ..Surroundings::default() };
    assert_eq!(
        why_of(&queued(), &around, 9),
        Why::Paused { queue: queued().queue, by: "olga".into(), since: at(5) }
    );
    around.paused = None;
    around.hand_tries = 3;
    assert_eq!(why_of(&queued(), &around, 9), Why::NotHandedOver { tries: 3 });
    around.handed_at = Some(at(4));
    assert_eq!(why_of(&queued(), &around, 9), Why::InTaskQueue { since: at(4) });
    (around.handed_at, around.hand_tries) = (None, 0);
    assert_eq!(why_of(&queued(), &around, 9), Why::NoWorkers);
    around.slots = 4;
    around.busy = 4;
    assert_eq!(why_of(&queued(), &around, 10), Why::SlotsTaken { slots: 4, ahead: 3 });
    around.busy = 3;
    assert_eq!(why_of(&queued(), &around, 10), Why::Behind { ahead: 3 });
    around.ahead = 0;
    assert_eq!(why_of(&queued(), &around, 10), Why::NothingWrong);
}

#[test]
fn why_running_until_expiry_then_lease_expired() {
    let worker = WorkerId("one".into());
    let seen = Surroundings { holder_seen_at: Some(at(36)), ..healthy() };
    assert_eq!(why_of(&leased(), &seen, 39), Why::Running { worker: worker.clone(), until: at(40) });
    let around = Surroundings { holder_seen_at: Some(at(12)), ..healthy() };
    let expired =
        Why::LeaseExpired { worker, at: at(40), seen_at: Some(at(12)), next_owner: NextOwner::Worker };
    assert_eq!(why_of(&leased(), &around, 40), expired);
}

#[test]
fn why_holder_is_silent_after_two_missed_reports_unless_it_left() {
    let around = Surroundings { holder_seen_at: Some(at(12)), ..healthy() };
    assert_eq!(why_of(&leased(), &around, 22).guard(), "running", "ten seconds are no silence");
    let silent = why_of(&leased(), &around, 23);
    let (worker, next_owner) = (WorkerId("one".into()), NextOwner::Worker);
    assert_eq!(silent, Why::HolderSilent { worker, until: at(40), seen_at: at(12), next_owner });
    assert_eq!(
        silent.to_string(),
        "one holds its lease until 2023-11-14T22:14:00.000Z, but that process was last seen at 2023-11-14T22:13:32.000Z. \
         Unless it renews: the lease watch of a living process takes it back within seconds, and a living worker \
         goes on with it."
    );
    let leaving = Surroundings { holder_stopping: true, ..around };
    assert_eq!(why_of(&leased(), &leaving, 39).guard(), "running", "it renews and is not seen");
}

#[test]
fn why_unknown_holder_is_gone_unless_it_just_claimed() {
    assert_eq!(why_of(&leased(), &healthy(), 20).guard(), "running", "it claims before it is seen");
    let gone = why_of(&leased(), &healthy(), 21);
    let (worker, next_owner) = (WorkerId("one".into()), NextOwner::Worker);
    assert_eq!(gone, Why::HolderGone { worker, until: at(40), next_owner });
    assert_eq!(
        gone.to_string(),
        "one holds its lease until 2023-11-14T22:14:00.000Z, but no such process is known: it has ended, or was never \
         seen. Unless it renews: the lease watch of a living process takes it back within seconds, and a living \
         worker goes on with it."
    );
}

#[test]
fn why_next_owner_exists_only_with_living_processes() {
    let next_owner = |job: &Job, around: Surroundings| match why_of(job, &around, 40) {
        Why::LeaseExpired { next_owner, .. } => next_owner,
        other => panic!("{other:?}"),
    };
    let with_keys = Job { requires_keys: true, ..leased() };
    let last = Job { crashes: policy().max_crashes - 1, ..leased() };
    let paused = || Surroundings { paused: Some(("olga".into(), at(5))), ..healthy() };
    assert_eq!(next_owner(&leased(), healthy()), NextOwner::Worker);
    assert_eq!(next_owner(&leased(), paused()), NextOwner::PausedQueue(leased().queue));
    assert_eq!(next_owner(&with_keys, paused()), NextOwner::User);
    assert_eq!(next_owner(&last, paused()), NextOwner::DeadLetter);
    assert_eq!(next_owner(&leased(), Surroundings { slots: 0, ..healthy() }), NextOwner::NoWorker);
    for job in [leased(), with_keys, last] {
        assert_eq!(next_owner(&job, Surroundings { living: 0, slots: 0, ..paused() }), NextOwner::NoProcess);
    }
}

/// The next owner of an expired lease is the one that `Reconcile` gives it.
#[test]
fn why_next_owner_agrees_with_reconcile() {
    let with_keys = Job { requires_keys: true, ..leased() };
    let last = Job { crashes: policy().max_crashes - 1, ..leased() };
    for (job, status) in [(leased(), "queued"), (with_keys, "blocked_byok"), (last, "dead_letter")] {
        let repaired = granted(&job, job::Command::Reconcile { task_waiting: false }, 40).job;
        assert_eq!(repaired.state.status(), status);
        let Why::LeaseExpired { next_owner, .. } = why_of(&job, &healthy(), 40) else { panic!("{job:?}") };
        let expected = match status {
            "queued" => NextOwner::Worker,
            "blocked_byok" => NextOwner::User,
            _ => NextOwner::DeadLetter,
        };
        assert_eq!(next_owner, expected);
    }
}

#[test]
fn why_sentences_name_the_queue_and_what_to_start() {
    let since = at(0);
    let paused = Why::Paused { queue: Queue::Creation, by: "olga".into(), since }.to_string();
    assert_eq!(
        paused,
        "Its queue, creation, has been paused by olga since 2023-11-14T22:13:20.000Z; \
         `listen jobs resume creation --reason …` opens it."
    );
    assert!(Why::NotHandedOver { tries: 1 }.to_string().contains("tried once so far"));
    assert!(Why::NotHandedOver { tries: 2 }.to_string().contains("tried 2 times so far"));
    let expired = |next_owner| {
        Why::LeaseExpired { worker: WorkerId("one".into()), at: at(40), seen_at: None, next_owner }
            .to_string()
    };
    assert_eq!(
        expired(NextOwner::NoProcess),
        "Its lease, held by one, ran out at 2023-11-14T22:14:00.000Z: no process is running that would take it back; \
         start one with the role worker."
    );
    for next_owner in [
        NextOwner::Worker,
        NextOwner::PausedQueue(Queue::Creation),
        NextOwner::User,
        NextOwner::DeadLetter,
        NextOwner::NoWorker,
    ] {
        assert!(
            expired(next_owner).contains("a living process takes it back within seconds"),
            "{next_owner:?}"
        );
    }
    assert!(expired(NextOwner::NoWorker).ends_with("start a process with the role worker."));
    assert!(expired(NextOwner::PausedQueue(Queue::Creation)).contains("its queue, creation, is paused"));
}

#[test]
fn why_parked_names_its_start_and_deadline() {
    let fortnight = 14 * 86_400;
    let around = Surroundings { user_requires_keys: true, ..healthy() };
    let required = why_of(&parked(), &around, 5);
    assert_eq!(required, Why::Parked { since: at(0), until: at(fortnight), required: true });
    assert!(!required.to_string().contains("cancel"), "a new job would be parked too: {required}");
    let way_out = why_of(&parked(), &healthy(), 5).to_string();
    assert!(way_out.contains("cancel it, and the user's next finalize"), "{way_out}");
}

#[test]
fn why_dead_letter_names_the_next_step() {
    let code = FailureCode::InvalidJob;
    assert_eq!(why_of(&dead(), &healthy(), 30), Why::Dead { code });
    let superseded = Surroundings { superseded: true, conversation_gone: true, ..healthy() };
    assert_eq!(why_of(&dead(), &superseded, 30), Why::Superseded { code });
    let gone = Surroundings { conversation_gone: true, ..healthy() };
    assert_eq!(why_of(&dead(), &gone, 30), Why::ConversationGone { code });
    let settled = granted(&dead(), job::Command::Discard, 25).job;
    assert_eq!(why_of(&settled, &superseded, 30), Why::Superseded { code });
    assert_eq!(why_of(&settled, &gone, 30), Why::ConversationGone { code }, "no operator has dismissed it");
    assert_eq!(why_of(&settled, &healthy(), 30), Why::Settled { code, at: at(25) });
    assert!(matches!(why_of(&completed(), &healthy(), 30), Why::Done { .. }));
}

/// With nothing around that could keep a slot from asking, and the holder just seen, `why` and the claim itself must agree.
#[test]
fn why_guard_agrees_with_the_claim_refusal() {
    let failed = granted(&leased(), fail(1, FailureCode::Internal), 20).job;
    for job in one_of_each().into_iter().chain([failed]) {
        for seconds in [20, 21, 39, 40, 49, 50, 301] {
            let claimed = decide(&job, claim(job.generation.0, false), at(seconds), &policy());
            let around = Surroundings { holder_seen_at: Some(at(seconds)), ..healthy() };
            let guard = why_of(&job, &around, seconds).guard();
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
fn why_answers_are_one_sentence_with_timestamps() {
    let failed = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).job;
    let words = why_of(&failed, &healthy(), 21).to_string();
    assert_eq!(words, "It backs off until 2023-11-14T22:14:10.000Z after model_timeout.");
    let around = Surroundings { busy: 4, ahead: 1, ..healthy() };
    let words = why_of(&queued(), &around, 1).to_string();
    assert_eq!(words, "All 4 slots of the living workers are taken, and 1 job comes before it.");
    let around = Surroundings { slots: 1, busy: 1, ..healthy() };
    let words = why_of(&queued(), &around, 1).to_string();
    assert_eq!(words, "The only slot of the living workers is taken, and no job comes before it.");
}

#[test]
fn why_counts_the_jobs_ahead_in_words() {
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
