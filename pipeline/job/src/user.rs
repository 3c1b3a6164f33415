//! The edges that follow from what the user does elsewhere.

use crate::{Job, Outcome, Refusal, State, Step, Timestamp, operator::settle};

/// Ends the job of a deleted conversation. The epoch is raised, so that no write of a run can land any
/// more; no webhook is sent. A dead letter stays one, and waits for no operator any more: it can never be replayed.
pub(crate) fn withdraw(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    if let State::DeadLetter { .. } = job.state {
        return settle(job, now);
    }
    check_live(job)?;
    let mut step = Step::from_job(job);
    step.job.epoch = step.job.epoch.next();
    step.job.state = State::Completed { outcome: Outcome::Withdrawn };
    step.job.last_code = None;
    step.job.hurried = false;
    Ok(step)
}

/// Marks the job as requiring keys and parks it if it waits; a run in progress may finish.
pub(crate) fn require_keys(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    check_live(job)?;
    let mut step = Step::from_job(job);
    step.job.requires_keys = true;
    Ok(match job.state {
        State::Queued { .. } => step.park(now),
        _ => step,
    })
}

fn check_live(job: &Job) -> Result<(), Refusal> {
    if job.state.is_terminal() { Err(Refusal::AtRest) } else { Ok(()) }
}
