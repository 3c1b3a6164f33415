//! The edge into a lease.

use crate::due::later;
use crate::{Generation, Job, Lease, Policy, Refusal, State, Step, Timestamp, WorkerId};

/// Grants the lease, takes over an expired one, or, when that was the last crash allowed, gives the job up:
/// the step then has no lease and there is nothing to run.
pub(crate) fn claim(
    job: &Job,
    generation: Generation,
    worker: WorkerId,
    keys: bool,
    now: Timestamp,
    policy: &Policy,
) -> Result<Step, Refusal> {
    check_generation(job, generation)?;
    let ready_at = claimable_since(job, keys, now)?;
    let step = Step::from_job(job);
    let grant = |step| lease(step, worker, ready_at, now, policy);
    Ok(match job.state {
        State::Leased(_) => step.crash_then(policy, grant),
        _ => grant(step),
    })
}

fn check_generation(job: &Job, generation: Generation) -> Result<(), Refusal> {
    if generation < job.generation {
        return Err(Refusal::StaleGeneration);
    }
    if generation > job.generation {
        return Err(Refusal::UnknownGeneration);
    }
    Ok(())
}

/// The `ready_at` under which the job waited, when a claim may have it now. The order of the refusals is
/// part of the contract: the most final answer first.
fn claimable_since(job: &Job, keys: bool, now: Timestamp) -> Result<Timestamp, Refusal> {
    let ready_at = match &job.state {
        State::Completed { .. } | State::DeadLetter { .. } => return Err(Refusal::AtRest),
        State::Leased(lease) if now < lease.expires_at => {
            return Err(Refusal::LeaseHeld { until: lease.expires_at });
        }
        State::Leased(lease) => lease.ready_at,
        State::BlockedByok => now,
        State::Queued { ready_at } => *ready_at,
    };
    if job.requires_keys && !keys {
        return Err(Refusal::Blocked);
    }
    match job.state {
        State::Queued { ready_at: until } if now < until => Err(Refusal::NotYet { until }),
        _ => Ok(ready_at),
    }
}

fn lease(mut step: Step, worker: WorkerId, ready_at: Timestamp, now: Timestamp, policy: &Policy) -> Step {
    let job = &mut step.job;
    job.epoch = job.epoch.next();
    job.runs = job.runs.saturating_add(1);
    let expires_at = later(now, policy.lease);
    job.state = State::Leased(Lease { epoch: job.epoch, worker, ready_at, claimed_at: now, expires_at });
    step
}
