//! The edges of an operator who fixed the cause, or gave up on it.

use crate::{Effect, Job, Queue, Refusal, State, Step, Timestamp};

/// What a replay must know beyond the job, read in the same transaction.
pub(crate) struct Replay {
    pub(crate) superseded: bool,
    pub(crate) conversation_gone: bool,
    pub(crate) requires_keys: bool,
}

/// Begins a dead letter anew, with nothing on its account but its epoch.
pub(crate) fn replay(job: &Job, replay: &Replay, now: Timestamp) -> Result<Step, Refusal> {
    check_replay(job, replay)?;
    let mut step = Step::from_job(job);
    let fresh = &mut step.job;
    fresh.queue = Queue::Finalization;
    fresh.generation = fresh.generation.next();
    fresh.attempts = 0;
    fresh.crashes = 0;
    fresh.crashed_epoch = None;
    fresh.runs = 0;
    fresh.requires_keys |= replay.requires_keys;
    fresh.admitted_at = now;
    fresh.first_blocked_at = None;
    fresh.last_code = None;
    fresh.settled_at = None;
    Ok(step.with(Effect::ReopenConversation).with(Effect::RecordAction).queue(now, now))
}

/// Of a parked job the refusal says what is missing: keys, not an operator.
fn check_replay(job: &Job, replay: &Replay) -> Result<(), Refusal> {
    match job.state {
        State::DeadLetter { .. } if replay.superseded => Err(Refusal::Superseded),
        State::DeadLetter { .. } if replay.conversation_gone => Err(Refusal::ConversationGone),
        State::DeadLetter { .. } => Ok(()),
        State::BlockedByok => Err(Refusal::Blocked),
        State::Queued { .. } | State::Leased(_) | State::Completed { .. } => Err(Refusal::NotDead),
    }
}

/// Marks a dead letter as settled; settling it again keeps the first moment.
pub(crate) fn discard(job: &Job, now: Timestamp) -> Result<Step, Refusal> {
    if !matches!(job.state, State::DeadLetter { .. }) {
        return Err(Refusal::NotDead);
    }
    let mut step = Step::from_job(job);
    step.job.settled_at.get_or_insert(now);
    Ok(step.with(Effect::RecordAction))
}
