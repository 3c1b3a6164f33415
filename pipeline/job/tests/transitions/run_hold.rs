//! A lease: renewing it, giving it back.

use job::{Command, Dispatch, Effect, Epoch, Refusal, State};

use crate::fixture::{
    at, claim, complete, fail, granted, keyed, lease, leased, one_of_each, park, ready_at, refused, release,
    renew,
};

#[test]
fn renew_moves_the_expiry_only() {
    let step = granted(&leased(), renew(1), 30);
    assert_eq!(step.effects, []);
    let mut expected = leased();
    if let State::Leased(lease) = &mut expected.state {
        lease.expires_at = at(60);
    }
    assert_eq!(step.job, expected);
}

#[test]
fn renew_never_shortens_the_lease() {
    let renewed = granted(&leased(), renew(1), 30).job;
    assert_eq!(lease(&granted(&renewed, renew(1), 12).job).expires_at, at(60));
}

#[test]
fn renew_after_expiry_is_granted_without_a_take_over() {
    assert_eq!(lease(&granted(&leased(), renew(1), 100).job).expires_at, at(130));
}

#[test]
fn renew_is_bounded_by_the_run_limit_from_the_claim() {
    let renewed = granted(&leased(), renew(1), 1_509).job;
    assert_eq!(lease(&renewed).expires_at, at(1_539));
    assert_eq!(refused(&renewed, renew(1), 1_510), Refusal::RunLimit);
    assert_eq!(refused(&renewed, renew(2), 1_510), Refusal::LeaseLost, "a lost lease is told first");
}

#[test]
fn release_without_delay_enqueues_at_no_cost() {
    let step = granted(&leased(), release(1, 0), 20);
    assert_eq!(step.effects, [Effect::Enqueue { at: at(20) }]);
    assert_eq!(ready_at(&step.job), at(20));
    assert_eq!((step.job.runs, step.job.attempts, step.job.crashes), (0, 0, 0));
    assert_eq!((step.job.epoch, step.job.dispatch), (Epoch(1), Dispatch(2)));
}

#[test]
fn release_with_a_delay_enqueues_at_its_end() {
    let step = granted(&leased(), release(1, 45), 20);
    assert_eq!(step.effects, [Effect::Enqueue { at: at(65) }]);
    assert_eq!(ready_at(&step.job), at(65));
    assert_eq!(ready_at(&granted(&leased(), release(1, -45), 20).job), at(20), "never into the past");
}

#[test]
fn release_with_a_delay_is_free_for_a_day() {
    let day = 24 * 3_600;
    assert_eq!(ready_at(&granted(&leased(), release(1, 60), day - 1).job), at(day + 59));
    assert_eq!(refused(&leased(), release(1, 60), day), Refusal::TooLate);
    assert_eq!(ready_at(&granted(&leased(), release(1, 0), day).job), at(day), "a stop is always free");
    assert_eq!(refused(&leased(), release(2, 60), day), Refusal::LeaseLost, "a lost lease is told first");
}

#[test]
fn release_parks_a_job_that_requires_keys() {
    for delay in [0, 60] {
        let step = granted(&keyed(), release(1, delay), 20);
        assert_eq!((&step.job.state, step.effects), (&State::BlockedByok, vec![]));
        assert_eq!((step.job.runs, step.job.first_blocked_at, step.job.last_code), (0, Some(at(0)), None));
    }
}

#[test]
fn run_of_a_user_marked_meanwhile_parks_when_unfinished() {
    let marked = granted(&leased(), Command::RequireKeys, 20).job;
    let step = granted(&marked, release(1, 0), 25);
    assert_eq!((&step.job.state, step.effects), (&State::BlockedByok, vec![]));
    assert_eq!(step.job.first_blocked_at, Some(at(25)));
}

#[test]
fn run_commands_need_the_current_epoch_of_a_leased_job() {
    let code = job::FailureCode::Internal;
    for job in one_of_each() {
        for epoch in [0, 1, 2] {
            if job.state.status() == "leased" && epoch == 1 {
                continue;
            }
            for command in [renew(epoch), release(epoch, 0), complete(epoch), fail(epoch, code), park(epoch)]
            {
                assert_eq!(refused(&job, command, 20), Refusal::LeaseLost);
            }
        }
    }
}

#[test]
fn first_ready_at_survives_renewal_and_take_over() {
    let renewed = granted(&leased(), renew(1), 30).job;
    let taken = granted(&renewed, claim(1, false), 60).job;
    assert_eq!((lease(&renewed).ready_at, lease(&taken).ready_at), (at(0), at(0)));
}
