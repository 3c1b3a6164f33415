//! The edges that follow from what the user does elsewhere.

use crate::{Outcome, Refusal, State, Step, decide::Decision};

impl Decision<'_> {
    /// Ends the job of a deleted conversation. The epoch is raised, so that no write of a run can land any
    /// more; no webhook is sent. A dead letter stays one, and waits for no operator any more: it can never be replayed.
    pub(crate) fn withdraw(&self) -> Result<Step, Refusal> {
        if let State::DeadLetter { .. } = self.job.state {
            return self.settle();
        }
        self.check_live()?;
        let mut step = Step::from_job(self.job);
        step.job.epoch = step.job.epoch.next();
        step.job.state = State::Completed { outcome: Outcome::Withdrawn };
        step.job.last_code = None;
        step.job.hurried = false;
        Ok(step)
    }

    /// Marks the job as requiring keys and parks it if it waits; a run in progress may finish.
    pub(crate) fn require_keys(&self) -> Result<Step, Refusal> {
        self.check_live()?;
        let mut step = Step::from_job(self.job);
        step.job.requires_keys = true;
        Ok(match self.job.state {
            State::Queued { .. } => step.park(self.now),
            _ => step,
        })
    }

    /// Whether the job is not at rest.
    pub(crate) fn check_live(&self) -> Result<(), Refusal> {
        if self.job.state.is_terminal() { Err(Refusal::AtRest) } else { Ok(()) }
    }
}
