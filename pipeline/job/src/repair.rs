//! The transitions of the reconciler and the lease watch: they make a job claimable again and do no work.

use crate::due::later;
use crate::{FailureCode, Job, Policy, Refusal, State, Step, Timestamp};

/// Repairs a job that is due: an expired lease, a task that was lost, keys that never came.
pub(crate) fn reconcile(
    job: &Job,
    task_waiting: bool,
    now: Timestamp,
    policy: &Policy,
) -> Result<Step, Refusal> {
    match job.reconcile_after_at(policy) {
        Some(due) if now >= due => {}
        _ => return Err(Refusal::NotDue),
    }
    match &job.state {
        State::Queued { .. } if task_waiting => Ok(check_later(job, now, policy)),
        State::Queued { ready_at } => Ok(dispatch_again(Step::from_job(job), *ready_at, now, policy)),
        State::Leased(lease) => {
            let enqueue = |step| dispatch_again(step, lease.ready_at, now, policy);
            Ok(Step::from_job(job).crash_then(policy, enqueue))
        }
        State::BlockedByok => Ok(Step::from_job(job).dead_letter(FailureCode::ByokSessionAbandoned)),
        State::Completed { .. } | State::DeadLetter { .. } => Err(Refusal::NotDue),
    }
}

/// The task of the present dispatch still waits for its turn: a new one would send the oldest jobs of a long
/// backlog to the tail for ever.
fn check_later(job: &Job, now: Timestamp, policy: &Policy) -> Step {
    let job = Job { next_check_at: Some(later(now, policy.staleness)), ..job.clone() };
    Step { job, effects: Vec::new() }
}

/// A new dispatch under the *first* `ready_at`, so that the job keeps its place in the queue. As that moment
/// may be long past, the next look is set by the clock of this one: or every pass would dispatch it anew.
fn dispatch_again(mut step: Step, first_ready_at: Timestamp, now: Timestamp, policy: &Policy) -> Step {
    step.job.generation = step.job.generation.next();
    let mut step = step.queue(first_ready_at, now);
    if matches!(step.job.state, State::Queued { .. }) {
        step.job.next_check_at = Some(later(now, policy.staleness));
    }
    step
}
