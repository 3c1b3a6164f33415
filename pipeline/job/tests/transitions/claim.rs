//! Claims: queued jobs, parked jobs, expired leases.

use job::{Command, Effect, Epoch, FailureCode, Generation, Job, Lease, Refusal, State, WorkerId};

use crate::fixture::{
    at, claim, completed, dead, dead_letter_effects, fail, granted, keyed, lease, leased, parked, queued,
    reconcile, refused, release, renew,
};

#[test]
fn claim_leases_a_queued_job_under_the_next_epoch() {
    let step = granted(&queued(), claim(1, false), 10);
    assert_eq!(step.effects, []);
    let expected = Lease {
        epoch: Epoch(1),
        worker: WorkerId("one".into()),
        ready_at: at(0),
        claimed_at: at(10),
        expires_at: at(40),
    };
    assert_eq!(step.job.state, State::Leased(expected));
    assert_eq!((step.job.epoch, step.job.runs), (Epoch(1), 1));
    assert_eq!((step.job.attempts, step.job.crashes, step.job.generation), (0, 0, Generation(1)));
}

#[test]
fn claim_with_keys_of_a_job_without_requirement_is_granted() {
    assert_eq!(lease(&granted(&queued(), claim(1, true), 0).job).epoch, Epoch(1));
}

#[test]
fn claim_with_keys_resumes_a_parked_job() {
    let job = granted(&parked(), claim(1, true), 10).job;
    assert_eq!((lease(&job).ready_at, lease(&job).expires_at), (at(10), at(40)));
    assert_eq!(job.first_blocked_at, Some(at(0)), "parking again must not restart the clock");
}

#[test]
fn claim_of_an_expired_lease_takes_over_and_counts_a_crash() {
    assert_eq!(refused(&leased(), claim(1, false), 39), Refusal::LeaseHeld { until: at(40) });
    let step = granted(&leased(), claim(1, false), 40);
    assert_eq!(step.effects, [Effect::CountRetry]);
    assert_eq!((step.job.epoch, step.job.crashes, step.job.attempts, step.job.runs), (Epoch(2), 1, 0, 2));
    let taken = lease(&step.job);
    assert_eq!((taken.epoch, taken.ready_at, taken.claimed_at), (Epoch(2), at(0), at(40)));
}

#[test]
fn claim_finding_the_fifth_crash_dead_letters_the_job() {
    let fourth = Job { crashes: 4, ..leased() };
    let step = granted(&fourth, claim(1, false), 40);
    assert_eq!(step.job.state, State::DeadLetter { code: FailureCode::PoisonCrash });
    assert_eq!(step.effects, dead_letter_effects(FailureCode::PoisonCrash));
    assert_eq!((step.job.crashes, step.job.runs, step.job.epoch), (5, 1, Epoch(1)));
    let third = Job { crashes: 3, ..leased() };
    assert_eq!(lease(&granted(&third, claim(1, false), 40).job).epoch, Epoch(2));
}

#[test]
fn claim_clears_next_check_at() {
    let job = Job { next_check_at: Some(at(5)), ..queued() };
    let job = granted(&job, claim(1, false), 10).job;
    assert_eq!(job.next_check_at, None);
}

#[test]
fn claim_of_a_stale_generation_is_refused_in_every_state() {
    let dispatched_again = granted(&queued(), reconcile(false), 300).job;
    for job in [queued(), dispatched_again, leased(), parked(), completed(), dead()] {
        let Generation(now) = job.generation;
        assert_eq!(refused(&job, claim(now - 1, true), 600), Refusal::StaleGeneration);
        assert_eq!(refused(&job, claim(now + 1, true), 600), Refusal::UnknownGeneration);
    }
}

#[test]
fn claim_of_a_terminal_job_is_refused() {
    for job in [completed(), dead()] {
        assert_eq!(refused(&job, claim(1, true), 600), Refusal::AtRest);
    }
    let keyless = Job { requires_keys: true, ..dead() };
    assert_eq!(refused(&keyless, claim(1, false), 600), Refusal::AtRest, "at rest comes before blocked");
}

#[test]
fn claim_refusal_held_lease_precedes_missing_keys() {
    assert_eq!(refused(&keyed(), claim(1, false), 20), Refusal::LeaseHeld { until: at(40) });
    assert_eq!(refused(&keyed(), claim(1, true), 20), Refusal::LeaseHeld { until: at(40) });
}

#[test]
fn claim_without_keys_is_refused_for_a_job_that_requires_them() {
    assert_eq!(refused(&parked(), claim(1, false), 20), Refusal::Blocked);
    assert_eq!(refused(&keyed(), claim(1, false), 40), Refusal::Blocked, "not even an expired lease");
    let marked = granted(&leased(), Command::RequireKeys, 20).job;
    assert_eq!(refused(&marked, claim(1, false), 40), Refusal::Blocked);
    assert_eq!(lease(&granted(&marked, claim(1, true), 40).job).epoch, Epoch(2));
}

#[test]
fn claim_refusal_missing_keys_precedes_back_off() {
    let impossible = Job { requires_keys: true, state: State::Queued { ready_at: at(90) }, ..queued() };
    assert_eq!(refused(&impossible, claim(1, false), 20), Refusal::Blocked);
    assert_eq!(refused(&impossible, claim(1, true), 20), Refusal::NotYet { until: at(90) });
}

#[test]
fn claim_before_the_back_off_ends_is_refused() {
    let backing_off = granted(&leased(), fail(1, FailureCode::Internal), 20).job;
    assert_eq!(refused(&backing_off, claim(1, false), 49), Refusal::NotYet { until: at(50) });
    assert_eq!(refused(&backing_off, claim(1, true), 49), Refusal::NotYet { until: at(50) });
    assert_eq!(lease(&granted(&backing_off, claim(1, false), 50).job).epoch, Epoch(2));
}

#[test]
fn superseded_epoch_is_fenced() {
    let taken = granted(&leased(), claim(1, false), 40).job;
    for command in [renew(1), release(1, 0), crate::fixture::complete(1), fail(1, FailureCode::Internal)] {
        assert_eq!(refused(&taken, command, 41), Refusal::LeaseLost);
    }
    assert_eq!(refused(&taken, crate::fixture::park(1), 41), Refusal::LeaseLost);
}
