//! The edge into a lease.

use job::{Command, Effect, Epoch, FailureCode, Generation, Job, Lease, Refusal, State, WorkerId};

use crate::fixture::{
    at, claim, completed, dead, fail, funeral, granted, keyed, lease, leased, parked, queued, reconcile,
    refused, release, renew,
};

#[test]
fn a_claim_of_a_queued_job_leases_it_under_the_next_epoch() {
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
fn a_claim_with_keys_of_a_job_that_needs_none_is_granted() {
    assert_eq!(lease(&granted(&queued(), claim(1, true), 0).job).epoch, Epoch(1));
}

#[test]
fn a_claim_with_keys_wakes_a_parked_job() {
    let job = granted(&parked(), claim(1, true), 10).job;
    assert_eq!((lease(&job).ready_at, lease(&job).expires_at), (at(10), at(40)));
    assert_eq!(job.first_blocked_at, Some(at(0)), "parking again must not restart the clock");
}

#[test]
fn an_expired_lease_is_taken_over_from_its_last_moment_and_counts_a_crash() {
    assert_eq!(refused(&leased(), claim(1, false), 39), Refusal::LeaseHeld { until: at(40) });
    let step = granted(&leased(), claim(1, false), 40);
    assert_eq!(step.effects, [Effect::CountRetry]);
    assert_eq!((step.job.epoch, step.job.crashes, step.job.attempts, step.job.runs), (Epoch(2), 1, 0, 2));
    let taken = lease(&step.job);
    assert_eq!((taken.epoch, taken.ready_at, taken.claimed_at), (Epoch(2), at(0), at(40)));
}

#[test]
fn the_fifth_crash_found_by_a_claim_is_a_dead_letter_and_nothing_to_run() {
    let fourth = Job { crashes: 4, ..leased() };
    let step = granted(&fourth, claim(1, false), 40);
    assert_eq!(step.job.state, State::DeadLetter { code: FailureCode::PoisonCrash });
    assert_eq!(step.effects, funeral(FailureCode::PoisonCrash));
    assert_eq!((step.job.crashes, step.job.runs, step.job.epoch), (5, 1, Epoch(1)));
    let third = Job { crashes: 3, ..leased() };
    assert_eq!(lease(&granted(&third, claim(1, false), 40).job).epoch, Epoch(2));
}

#[test]
fn a_claim_forgets_what_a_reconcile_noted() {
    let job = Job { next_check_at: Some(at(5)), ..queued() };
    let job = granted(&job, claim(1, false), 10).job;
    assert_eq!(job.next_check_at, None);
}

#[test]
fn a_claim_of_another_generation_is_refused_whatever_the_state() {
    let dispatched_again = granted(&queued(), reconcile(false), 300).job;
    for job in [queued(), dispatched_again, leased(), parked(), completed(), dead()] {
        let Generation(now) = job.generation;
        assert_eq!(refused(&job, claim(now - 1, true), 600), Refusal::StaleGeneration);
        assert_eq!(refused(&job, claim(now + 1, true), 600), Refusal::UnknownGeneration);
    }
}

#[test]
fn a_claim_of_a_terminal_job_finds_it_at_rest() {
    for job in [completed(), dead()] {
        assert_eq!(refused(&job, claim(1, true), 600), Refusal::AtRest);
    }
    let keyless = Job { requires_keys: true, ..dead() };
    assert_eq!(refused(&keyless, claim(1, false), 600), Refusal::AtRest, "at rest comes before blocked");
}

#[test]
fn a_held_lease_is_told_before_missing_keys() {
    assert_eq!(refused(&keyed(), claim(1, false), 20), Refusal::LeaseHeld { until: at(40) });
    assert_eq!(refused(&keyed(), claim(1, true), 20), Refusal::LeaseHeld { until: at(40) });
}

#[test]
fn no_claim_without_keys_gets_a_job_that_requires_them() {
    assert_eq!(refused(&parked(), claim(1, false), 20), Refusal::Blocked);
    assert_eq!(refused(&keyed(), claim(1, false), 40), Refusal::Blocked, "not even an expired lease");
    let marked = granted(&leased(), Command::RequireKeys, 20).job;
    assert_eq!(refused(&marked, claim(1, false), 40), Refusal::Blocked);
    assert_eq!(lease(&granted(&marked, claim(1, true), 40).job).epoch, Epoch(2));
}

#[test]
fn missing_keys_are_told_before_a_back_off() {
    let impossible = Job { requires_keys: true, state: State::Queued { ready_at: at(90) }, ..queued() };
    assert_eq!(refused(&impossible, claim(1, false), 20), Refusal::Blocked);
    assert_eq!(refused(&impossible, claim(1, true), 20), Refusal::NotYet { until: at(90) });
}

#[test]
fn a_job_that_backs_off_is_not_claimed_before_its_moment() {
    let backing_off = granted(&leased(), fail(1, FailureCode::Internal), 20).job;
    assert_eq!(refused(&backing_off, claim(1, false), 49), Refusal::NotYet { until: at(50) });
    assert_eq!(refused(&backing_off, claim(1, true), 49), Refusal::NotYet { until: at(50) });
    assert_eq!(lease(&granted(&backing_off, claim(1, false), 50).job).epoch, Epoch(2));
}

#[test]
fn an_epoch_that_was_taken_over_can_do_nothing_more() {
    let taken = granted(&leased(), claim(1, false), 40).job;
    for command in [renew(1), release(1, 0), crate::fixture::complete(1), fail(1, FailureCode::Internal)] {
        assert_eq!(refused(&taken, command, 41), Refusal::LeaseLost);
    }
    assert_eq!(refused(&taken, crate::fixture::park(1), 41), Refusal::LeaseLost);
}
