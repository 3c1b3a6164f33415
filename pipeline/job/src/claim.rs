//! The edge into a lease.

use crate::{Generation, Lease, Refusal, State, Step, Timestamp, WorkerId, decide::Decision, due::later};

impl Decision<'_> {
    /// Grants the lease, takes over an expired one, or, when that was the last crash allowed, gives the job up:
    /// the step then has no lease and there is nothing to run.
    pub(crate) fn claim(
        &self,
        generation: Generation,
        worker: WorkerId,
        keys: bool,
    ) -> Result<Step, Refusal> {
        if generation < self.job.generation {
            return Err(Refusal::StaleGeneration);
        }
        if generation > self.job.generation {
            return Err(Refusal::UnknownGeneration);
        }
        let ready_at = self.claimable_since(keys)?;
        let step = Step::from_job(self.job);
        let lease = |step| self.lease(step, worker, ready_at);
        Ok(match self.job.state {
            State::Leased(_) => step.crash_then(self.policy, lease),
            _ => lease(step),
        })
    }

    /// The `ready_at` under which the job waited, when a claim may have it now. The order of the refusals is
    /// part of the contract: the most final answer first.
    fn claimable_since(&self, keys: bool) -> Result<Timestamp, Refusal> {
        let ready_at = match &self.job.state {
            State::Completed { .. } | State::DeadLetter { .. } => return Err(Refusal::AtRest),
            State::Leased(lease) if self.now < lease.expires_at => {
                return Err(Refusal::LeaseHeld { until: lease.expires_at });
            }
            State::Leased(lease) => lease.ready_at,
            State::BlockedByok => self.now,
            State::Queued { ready_at } => *ready_at,
        };
        if self.job.requires_keys && !keys {
            return Err(Refusal::Blocked);
        }
        match self.job.state {
            State::Queued { ready_at: until } if self.now < until => Err(Refusal::NotYet { until }),
            _ => Ok(ready_at),
        }
    }

    fn lease(&self, mut step: Step, worker: WorkerId, ready_at: Timestamp) -> Step {
        let job = &mut step.job;
        job.epoch = job.epoch.next();
        job.runs = job.runs.saturating_add(1);
        job.state = State::Leased(Lease {
            epoch: job.epoch,
            worker,
            ready_at,
            claimed_at: self.now,
            expires_at: later(self.now, self.policy.lease),
        });
        step
    }
}
