//! The edges of an operator who fixed the cause, or gave up on it.

use crate::{Effect, FailureCode, Queue, Refusal, State, Step, decide::Decision};

impl Decision<'_> {
    /// Begins a dead letter anew, with nothing on its account but its epoch. Of a parked job the refusal says what is missing:
    /// keys, not an operator.
    pub(crate) fn replay(
        &self,
        superseded: bool,
        conversation_gone: bool,
        requires_keys: bool,
    ) -> Result<Step, Refusal> {
        match self.job.state {
            State::DeadLetter { .. } if superseded => return Err(Refusal::Superseded),
            State::DeadLetter { .. } if conversation_gone => return Err(Refusal::ConversationGone),
            State::DeadLetter { .. } => {}
            State::BlockedByok => return Err(Refusal::Blocked),
            State::Queued { .. } | State::Leased(_) | State::Completed { .. } => {
                return Err(Refusal::NotDead);
            }
        }
        let mut step = Step::from_job(self.job);
        let fresh = &mut step.job;
        fresh.queue = Queue::Finalization;
        fresh.generation = fresh.generation.next();
        fresh.attempts = 0;
        fresh.crashes = 0;
        fresh.crashed_epoch = None;
        fresh.runs = 0;
        fresh.requires_keys |= requires_keys;
        fresh.admitted_at = self.now;
        fresh.first_blocked_at = None;
        fresh.last_code = None;
        fresh.settled_at = None;
        Ok(step.with(Effect::ReopenConversation).queue(self.now, self.now))
    }

    /// A dead letter that waits for no operator any more; settling it again keeps the first moment.
    pub(crate) fn settle(&self) -> Result<Step, Refusal> {
        if !matches!(self.job.state, State::DeadLetter { .. }) {
            return Err(Refusal::NotDead);
        }
        let mut step = Step::from_job(self.job);
        step.job.settled_at.get_or_insert(self.now);
        Ok(step)
    }

    /// Ends the wait of a job that backs off, or was released because a circuit is open. The new generation makes a task
    /// that was scheduled for the end of that wait stale. Attempts are kept: the order ends a wait, it forgives nothing.
    pub(crate) fn run_now(&self) -> Result<Step, Refusal> {
        match &self.job.state {
            State::Queued { ready_at } if self.now < *ready_at => {}
            State::Queued { .. } => return Err(Refusal::Ready),
            State::Leased(lease) => return Err(Refusal::LeaseHeld { until: lease.expires_at }),
            State::BlockedByok => return Err(Refusal::Blocked),
            State::Completed { .. } | State::DeadLetter { .. } => return Err(Refusal::AtRest),
        }
        let mut step = Step::from_job(self.job);
        step.job.generation = step.job.generation.next();
        let mut step = step.queue(self.now, self.now);
        step.job.hurried = true;
        Ok(step)
    }

    /// Ends a live job. The epoch is raised, so that no write of a run can land any more. The operator who ends it has
    /// looked at it: the dead letter is settled already, and no bulk replay takes it along. It can be replayed alone.
    pub(crate) fn cancel(&self) -> Result<Step, Refusal> {
        self.check_live()?;
        let mut step = Step::from_job(self.job);
        step.job.epoch = step.job.epoch.next();
        step.job.settled_at = Some(self.now);
        Ok(step.dead_letter(FailureCode::CancelledByOperator))
    }
}
