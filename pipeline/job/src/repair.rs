//! The transitions of the reconciler and the lease watch: they make a job claimable again and do no work.

use crate::{FailureCode, Job, Refusal, State, Step, Timestamp, decide::Decision, due::later};

impl Decision<'_> {
    /// Repairs a job that is due: an expired lease, a task that was lost, keys that never came.
    pub(crate) fn reconcile(&self, task_waiting: bool) -> Result<Step, Refusal> {
        let job = self.job;
        match job.reconcile_after_at(self.policy) {
            Some(due) if self.now >= due => {}
            _ => return Err(Refusal::NotDue),
        }
        match &job.state {
            // The task of the present dispatch still waits for its turn: a new one would send the oldest jobs of a long
            // backlog to the tail for ever.
            State::Queued { .. } if task_waiting => {
                let next_check_at = Some(later(self.now, self.policy.staleness));
                Ok(Step { job: Job { next_check_at, ..job.clone() }, effects: Vec::new() })
            }
            State::Queued { ready_at } => Ok(self.dispatch_again(Step::from_job(job), *ready_at)),
            State::Leased(lease) => {
                let enqueue = |step| self.dispatch_again(step, lease.ready_at);
                Ok(Step::from_job(job).crash_then(self.policy, enqueue))
            }
            State::BlockedByok => Ok(Step::from_job(job).dead_letter(FailureCode::ByokSessionAbandoned)),
            State::Completed { .. } | State::DeadLetter { .. } => Err(Refusal::NotDue),
        }
    }

    /// A new dispatch under the *first* `ready_at`, so that the job keeps its place in the queue. As that moment
    /// may be long past, the next look is set by the clock of this one: or every pass would dispatch it anew.
    fn dispatch_again(&self, mut step: Step, first_ready_at: Timestamp) -> Step {
        step.job.generation = step.job.generation.next();
        let mut step = step.queue(first_ready_at, self.now);
        if matches!(step.job.state, State::Queued { .. }) {
            step.job.next_check_at = Some(later(self.now, self.policy.staleness));
        }
        step
    }
}
