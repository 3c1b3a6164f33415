//! Admission.

use job::{Dispatch, Effect, Epoch, Generation, Job, Origin, Queue, Refusal, State};

use crate::fixture::{admission, at, claim, granted, lease, one_of_each, refused};

#[test]
fn admit_enqueues_the_job_once() {
    let step = Job::admit(admission(false), at(0));
    assert_eq!(step.effects, [Effect::Enqueue { at: at(0) }]);
    let job = step.job;
    assert_eq!(job.state, State::Queued { ready_at: at(0) });
    assert_eq!((job.epoch, job.generation, job.dispatch), (Epoch(0), Generation(1), Dispatch(1)));
    assert_eq!((job.attempts, job.crashes, job.runs), (0, 0, 0));
    assert_eq!((job.queue, job.force_process, job.requires_keys), (Queue::Creation, true, false));
    assert_eq!(job.admitted_at, at(0));
    assert_eq!(
        (job.first_blocked_at, job.last_code, job.settled_at, job.next_check_at),
        (None, None, None, None)
    );
}

#[test]
fn admit_parks_a_job_that_requires_keys() {
    let step = Job::admit(admission(true), at(0));
    assert_eq!(step.effects, []);
    assert_eq!(step.job.state, State::BlockedByok);
    assert_eq!(step.job.first_blocked_at, Some(at(0)));
    assert_eq!(step.job.dispatch, Dispatch(0));
    assert!(step.job.requires_keys);
}

#[test]
fn admit_with_a_key_slot_is_claimed_at_once() {
    let admitted = Job::admit(admission(true), at(0)).job;
    let step = granted(&admitted, claim(1, true), 0);
    assert_eq!(step.effects, []);
    assert_eq!((lease(&step.job).epoch, step.job.epoch, step.job.runs), (Epoch(1), Epoch(1), 1));
    assert_eq!((step.job.first_blocked_at, step.job.dispatch), (Some(at(0)), Dispatch(0)));
    assert_eq!(refused(&admitted, claim(1, false), 0), Refusal::Blocked);
}

#[test]
fn admit_origin_decides_the_queue() {
    assert_eq!(Origin::Finalize.queue(), Queue::Finalization);
    assert_eq!(Origin::Create.queue(), Queue::Creation);
    assert_eq!(Origin::Reprocess.queue(), Queue::Creation);
}

#[test]
fn fixture_has_one_job_of_each_state() {
    let statuses = one_of_each().map(|job| job.state.status());
    assert_eq!(statuses, ["queued", "leased", "blocked_byok", "completed", "dead_letter"]);
}
