//! The edges that only the holder of the newest claim may take.
//!
//! The epoch is safety, the clock is only politeness: a holder whose lease ran out is accepted as long as
//! no other run took over, and afterwards it can still prove that it did not crash.

use chrono::Duration;

use crate::due::later;
use crate::{Effect, Epoch, FailureCode, Job, Lease, Outcome, Policy, Refusal, State, Step, Timestamp};

/// Moves the expiry, never to an earlier moment, until the run limit is over.
pub(crate) fn renew(job: &Job, epoch: Epoch, now: Timestamp, policy: &Policy) -> Result<Step, Refusal> {
    let lease = held(job, epoch)?;
    if now >= later(lease.claimed_at, policy.run_limit) {
        return Err(Refusal::RunLimit);
    }
    let expires_at = lease.expires_at.max(later(now, policy.lease));
    let mut step = Step::from_job(job);
    step.job.state = State::Leased(Lease { expires_at, ..lease.clone() });
    Ok(step)
}

/// Takes back the crash that was counted last, when the claim that it was counted for proves that its process lives: it
/// was late, and did not crash. Nothing else moves: the fence stays, and so does the place in the queue. Once per crash,
/// and only up to a number of runs, so that a job that starves every process it runs on comes to an end.
pub(crate) fn prove_alive(job: &Job, epoch: Epoch, policy: &Policy) -> Result<Step, Refusal> {
    let counted = job.crashed_epoch == Some(epoch) && !job.state.is_terminal();
    if !counted || job.runs > policy.max_late_runs {
        return Err(Refusal::LeaseLost);
    }
    let crashes = job.crashes.saturating_sub(1);
    Ok(Step { job: Job { crashes, crashed_epoch: None, ..job.clone() }, effects: Vec::new() })
}

/// Gives the job back; neither an attempt nor a run is spent.
pub(crate) fn release(
    job: &Job,
    epoch: Epoch,
    delay: Duration,
    now: Timestamp,
    policy: &Policy,
) -> Result<Step, Refusal> {
    held(job, epoch)?;
    if delay > Duration::zero() && now >= later(job.admitted_at, policy.release_window) {
        return Err(Refusal::TooLate);
    }
    let mut step = Step::from_job(job);
    step.job.runs = step.job.runs.saturating_sub(1);
    Ok(step.queue(later(now, delay.max(Duration::zero())), now))
}

/// Ends the job with its results.
pub(crate) fn complete(job: &Job, epoch: Epoch, outcome: Outcome) -> Result<Step, Refusal> {
    held(job, epoch)?;
    let mut step = Step::from_job(job);
    step.job.state = State::Completed { outcome };
    step.job.hurried = false;
    step.job.last_code = None;
    Ok(step.with(Effect::CompleteConversation { outcome }))
}

/// Spends an attempt: another one after the back-off, or, when the code is fatal or that was the last one, none.
pub(crate) fn fail(
    job: &Job,
    epoch: Epoch,
    code: FailureCode,
    retry_after: Option<Duration>,
    jitter_permille: i32,
    now: Timestamp,
    policy: &Policy,
) -> Result<Step, Refusal> {
    held(job, epoch)?;
    let mut step = Step::from_job(job);
    let attempts = step.job.attempts.saturating_add(1);
    step.job.attempts = attempts;
    step.job.last_code = Some(code);
    if !code.is_retryable() || attempts >= policy.max_attempts {
        return Ok(step.dead_letter(code));
    }
    let back_off = policy.back_off_after(attempts, jitter_permille);
    let wait = retry_after.map_or(back_off, |asked| asked.max(back_off));
    Ok(step.with(Effect::CountRetry).queue(later(now, wait), now))
}

/// Parks a run whose key the provider refused. It held its user's keys, so from now on the job requires
/// them, whatever it was admitted with: a refused key must never lead to the service's own.
pub(crate) fn park(job: &Job, epoch: Epoch, now: Timestamp) -> Result<Step, Refusal> {
    held(job, epoch)?;
    let mut step = Step::from_job(job);
    step.job.requires_keys = true;
    step.job.last_code = Some(FailureCode::ByokKeyRejected);
    Ok(step.park(now))
}

/// The lease that `epoch` holds. Everything that a run writes passes here.
fn held(job: &Job, epoch: Epoch) -> Result<&Lease, Refusal> {
    match &job.state {
        State::Leased(lease) if lease.epoch == epoch => Ok(lease),
        _ => Err(Refusal::LeaseLost),
    }
}
