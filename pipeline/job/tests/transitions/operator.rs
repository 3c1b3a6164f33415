//! Replay, discard, run now and cancel.

use job::{Command, Dispatch, Effect, Epoch, FailureCode, Generation, Job, Queue, Refusal, State};

use crate::fixture::{
    at, claim, complete, completed, dead, fail, granted, keyed, leased, park, parked, prove_alive, queued,
    ready_at, refused, release, renew, replay,
};

fn replay_when(superseded: bool, conversation_gone: bool, requires_keys: bool) -> Command {
    Command::Replay { superseded, conversation_gone, requires_keys }
}

#[test]
fn replay_resets_everything_except_the_epoch() {
    let worn = Job {
        attempts: 5,
        crashes: 3,
        runs: 8,
        epoch: Epoch(8),
        dispatch: Dispatch(6),
        generation: Generation(4),
        settled_at: Some(at(30)),
        first_blocked_at: Some(at(1)),
        ..dead()
    };
    let step = granted(&worn, replay(), 100);
    let expected = [Effect::ReopenConversation, Effect::Enqueue { at: at(100) }];
    assert_eq!(step.effects, expected);
    let fresh = step.job;
    assert_eq!(fresh.state, State::Queued { ready_at: at(100) });
    assert_eq!((fresh.attempts, fresh.crashes, fresh.runs), (0, 0, 0));
    assert_eq!((fresh.generation, fresh.epoch, fresh.dispatch), (Generation(5), Epoch(8), Dispatch(7)));
    assert_eq!((fresh.queue, fresh.admitted_at), (Queue::Finalization, at(100)));
    assert_eq!((fresh.last_code, fresh.settled_at, fresh.first_blocked_at), (None, None, None));
    assert_eq!((fresh.force_process, fresh.origin), (worn.force_process, worn.origin));
}

#[test]
fn replay_parks_a_job_that_requires_keys_and_restarts_its_deadline() {
    let keyless = Job { requires_keys: true, first_blocked_at: Some(at(1)), ..dead() };
    let marked_since = (dead(), replay_when(false, false, true));
    for (job, command) in [(keyless, replay()), marked_since] {
        let step = granted(&job, command, 100);
        assert_eq!(step.job.state, State::BlockedByok);
        assert_eq!((step.job.requires_keys, step.job.first_blocked_at), (true, Some(at(100))));
        assert_eq!((step.job.generation, step.job.dispatch), (Generation(2), job.dispatch));
        assert_eq!(step.effects, [Effect::ReopenConversation]);
    }
}

#[test]
fn replay_makes_earlier_deliveries_and_leases_stale() {
    let replayed = granted(&dead(), replay(), 100).job;
    assert_eq!(refused(&replayed, claim(1, false), 100), Refusal::StaleGeneration);
    assert_eq!(refused(&replayed, complete(1), 100), Refusal::LeaseLost);
    let claimed = granted(&replayed, claim(2, false), 100).job;
    assert_eq!(claimed.epoch, Epoch(2));
    assert_eq!(refused(&claimed, complete(1), 100), Refusal::LeaseLost);
}

#[test]
fn replay_is_refused_unless_dead_letter() {
    for job in [queued(), leased(), keyed(), completed()] {
        assert_eq!(refused(&job, replay_when(true, true, true), 100), Refusal::NotDead);
    }
}

#[test]
fn replay_of_a_parked_job_is_refused_for_missing_keys() {
    assert_eq!(refused(&parked(), replay_when(true, true, true), 100), Refusal::Blocked);
}

#[test]
fn replay_is_refused_after_a_newer_revision_then_a_deletion() {
    assert_eq!(refused(&dead(), replay_when(true, true, false), 100), Refusal::Superseded);
    assert_eq!(refused(&dead(), replay_when(true, false, false), 100), Refusal::Superseded);
    assert_eq!(refused(&dead(), replay_when(false, true, false), 100), Refusal::ConversationGone);
}

#[test]
fn discard_keeps_the_dead_letter_and_records_the_time() {
    let step = granted(&dead(), Command::Discard, 100);
    assert_eq!(step.job, Job { settled_at: Some(at(100)), ..dead() });
    assert_eq!(step.job.last_code, Some(FailureCode::InvalidJob));
    assert_eq!(step.effects, []);
    assert_eq!(granted(&step.job, Command::Discard, 200).job.settled_at, Some(at(100)));
    assert_eq!(ready_at(&granted(&step.job, replay(), 300).job), at(300), "a settled one may be replayed");
}

#[test]
fn discard_is_refused_unless_dead_letter() {
    for job in [queued(), leased(), parked(), completed()] {
        for command in [Command::Discard, Command::Supersede] {
            assert_eq!(refused(&job, command, 100), Refusal::NotDead);
        }
    }
}

#[test]
fn superseded_dead_letter_is_discarded_without_an_operator() {
    let step = granted(&dead(), Command::Supersede, 100);
    assert_eq!((&step.job, step.effects.len()), (&Job { settled_at: Some(at(100)), ..dead() }, 0));
    assert_eq!(granted(&step.job, Command::Supersede, 200).job, step.job, "it keeps the moment");
}

#[test]
fn run_now_ends_a_back_off_and_keeps_its_attempts() {
    let failed = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).job;
    let step = granted(&failed, Command::RunNow, 25);
    assert_eq!(step.effects, [Effect::Enqueue { at: at(25) }]);
    let expected = Job {
        state: State::Queued { ready_at: at(25) },
        generation: Generation(2),
        dispatch: Dispatch(3),
        hurried: true,
        ..failed
    };
    assert_eq!(step.job, expected, "attempts, code and admission stay");
    assert_eq!(refused(&step.job, claim(1, false), 25), Refusal::StaleGeneration, "the scheduled task");
    assert_eq!(granted(&step.job, claim(2, false), 25).job.attempts, 1);
}

#[test]
fn run_now_lasts_until_the_run_ends() {
    let released = granted(&leased(), release(1, 60), 20).job;
    let hurried = granted(&released, Command::RunNow, 30).job;
    let running = granted(&hurried, claim(2, false), 31).job;
    assert!(running.hurried);
    let crashed = granted(&running, claim(2, false), 62).job;
    assert!(crashed.hurried, "a take-over begins the run that was asked for");
    for command in [
        complete(2),
        fail(2, FailureCode::ModelTimeout),
        fail(2, FailureCode::InvalidJob),
        release(2, 0),
        park(2),
        Command::Withdraw,
        Command::Cancel,
    ] {
        assert!(!granted(&running, command.clone(), 40).job.hurried, "{command:?}");
    }
}

#[test]
fn run_now_is_refused_without_a_back_off() {
    for (job, refusal) in [
        (queued(), Refusal::Ready),
        (leased(), Refusal::LeaseHeld { until: at(40) }),
        (parked(), Refusal::Blocked),
        (completed(), Refusal::AtRest),
        (dead(), Refusal::AtRest),
    ] {
        assert_eq!(refused(&job, Command::RunNow, 30), refusal);
    }
    let failed = granted(&leased(), fail(1, FailureCode::ModelTimeout), 20).job;
    assert_eq!(refused(&failed, Command::RunNow, 50), Refusal::Ready, "its wait has just ended");
}

#[test]
fn cancel_makes_a_discarded_dead_letter_under_a_new_epoch() {
    let code = FailureCode::CancelledByOperator;
    for job in [queued(), leased(), parked(), keyed()] {
        let step = granted(&job, Command::Cancel, 30);
        let expected = Job {
            state: State::DeadLetter { code },
            last_code: Some(code),
            epoch: job.epoch.next(),
            settled_at: Some(at(30)),
            ..job
        };
        assert_eq!(step.job, expected);
        let told = [Effect::FailConversation { code }, Effect::CountDeadLetter];
        assert_eq!(step.effects, told);
    }
}

#[test]
fn cancel_fences_the_running_lease() {
    let cancelled = granted(&leased(), Command::Cancel, 15).job;
    let code = FailureCode::CancelledByOperator;
    for epoch in [1, 2] {
        for command in
            [complete(epoch), fail(epoch, code), release(epoch, 0), renew(epoch), prove_alive(epoch)]
        {
            assert!(epoch == 2 || !cancelled.has_applied(&command), "{command:?}");
            assert_eq!(refused(&cancelled, command, 16), Refusal::LeaseLost);
        }
    }
}

#[test]
fn cancel_can_be_replayed_and_is_refused_for_terminal_jobs() {
    let cancelled = granted(&leased(), Command::Cancel, 15).job;
    let replayed = granted(&cancelled, replay(), 20).job;
    assert_eq!((replayed.state.status(), replayed.settled_at), ("queued", None));
    for job in [completed(), dead(), cancelled] {
        assert_eq!(refused(&job, Command::Cancel, 30), Refusal::AtRest);
    }
}
