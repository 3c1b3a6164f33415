//! The edges of an operator who fixed the cause, or gave up on it.

use crate::{Effect, FailureCode, Job, Queue, Refusal, State, Step, Timestamp};

/// Begins a dead letter anew, with nothing on its account but its epoch. Of a parked job the refusal says what is missing:
/// keys, not an operator.
pub(crate) fn replay(
    job: &Job,
    superseded: bool,
    conversation_gone: bool,
    requires_keys: bool,
    now: Timestamp,
) -> Result<Step, Refusal> {
    match job.state {
        State::DeadLetter { .. } if superseded => return Err(Refusal::Superseded),
        State::DeadLetter { .. } if conversation_gone => return Err(Refusal::ConversationGone),
        State::DeadLetter { .. } => {}
        State::BlockedByok => return Err(Refusal::Blocked),
        State::Queued { .. } | State::Leased(_) | State::Completed { .. } => return Err(Refusal::NotDead),
    }
    let mut step = Step::from_job(job);
    let fresh = &mut step.job;
    fresh.queue = Queue::Finalization;
    fresh.generation = fresh.generation.next();
    fresh.attempts = 0;
    fresh.crashes = 0;
    fresh.crashed_epoch = None;
    fresh.runs = 0;
    fresh.requires_keys |= requires_keys;
    fresh.admitted_at = now;
    fresh.first_blocked_at = None;
    fresh.last_code = None;
    fresh.settled_at = None;
    Ok(step.with(Effect::ReopenConversation).queue(now, now))
}

/// A dead letter that waits for no operator any more; settling it again keeps the first moment.
pub(crate) fn settle(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    if !matches!(job.state, State::DeadLetter { .. }) {
        return Err(Refusal::NotDead);
    }
    let mut step = Step::from_job(job);
    step.job.settled_at.get_or_insert(now);
    Ok(step)
}

/// Ends the wait of a job that backs off, or was released because a circuit is open. The new generation makes a task
/// that was scheduled for the end of that wait stale. Attempts are kept: the order ends a wait, it forgives nothing.
pub(crate) fn run_now(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    match &job.state {
        State::Queued { ready_at } if now < *ready_at => {}
        State::Queued { .. } => return Err(Refusal::Ready),
        State::Leased(lease) => return Err(Refusal::LeaseHeld { until: lease.expires_at }),
        State::BlockedByok => return Err(Refusal::Blocked),
        State::Completed { .. } | State::DeadLetter { .. } => return Err(Refusal::AtRest),
    }
    let mut step = Step::from_job(job);
    step.job.generation = step.job.generation.next();
    let mut step = step.queue(now, now);
    step.job.hurried = true;
    Ok(step)
}

/// Ends a live job. The epoch is raised, so that no write of a run can land any more. The operator who ends it has
/// looked at it: the dead letter is settled already, and no bulk replay takes it along. It can be replayed alone.
pub(crate) fn cancel(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    if job.state.is_terminal() {
        return Err(Refusal::AtRest);
    }
    let mut step = Step::from_job(job);
    step.job.epoch = step.job.epoch.next();
    step.job.settled_at = Some(now);
    Ok(step.dead_letter(FailureCode::CancelledByOperator))
}
