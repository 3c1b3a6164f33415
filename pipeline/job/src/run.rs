//! The edges that only the holder of the newest claim may take.
//!
//! The epoch is safety, the clock is only politeness: a holder whose lease ran out is accepted as long as
//! no other run took over, and afterwards it can still prove that it did not crash.

use chrono::Duration;

use crate::{
    Effect, Epoch, FailureCode, Job, Lease, Outcome, Refusal, State, Step, decide::Decision, due::later,
};

impl Decision<'_> {
    /// Moves the expiry, never to an earlier moment, until the run limit is over.
    pub(crate) fn renew(&self, epoch: Epoch) -> Result<Step, Refusal> {
        let lease = self.held(epoch)?;
        if self.now >= later(lease.claimed_at, self.policy.run_limit) {
            return Err(Refusal::RunLimit);
        }
        let expires_at = lease.expires_at.max(later(self.now, self.policy.lease));
        let mut step = Step::from_job(self.job);
        step.job.state = State::Leased(Lease { expires_at, ..lease.clone() });
        Ok(step)
    }

    /// Takes back the crash that was counted last, when the claim that it was counted for proves that its process lives: it
    /// was late, and did not crash. Nothing else moves: the fence stays, and so does the place in the queue. Once per crash,
    /// and only up to a number of runs, so that a job that starves every process it runs on comes to an end.
    pub(crate) fn prove_alive(&self, epoch: Epoch) -> Result<Step, Refusal> {
        let job = self.job;
        let counted = job.crashed_epoch == Some(epoch) && !job.state.is_terminal();
        if !counted || job.runs > self.policy.max_late_runs {
            return Err(Refusal::LeaseLost);
        }
        let crashes = job.crashes.saturating_sub(1);
        Ok(Step { job: Job { crashes, crashed_epoch: None, ..job.clone() }, effects: Vec::new() })
    }

    /// Gives the job back; neither an attempt nor a run is spent.
    pub(crate) fn release(&self, epoch: Epoch, delay: Duration) -> Result<Step, Refusal> {
        self.held(epoch)?;
        if delay > Duration::zero() && self.now >= later(self.job.admitted_at, self.policy.release_window) {
            return Err(Refusal::TooLate);
        }
        let mut step = Step::from_job(self.job);
        step.job.runs = step.job.runs.saturating_sub(1);
        Ok(step.queue(later(self.now, delay.max(Duration::zero())), self.now))
    }

    /// Ends the job with its results.
    pub(crate) fn complete(&self, epoch: Epoch, outcome: Outcome) -> Result<Step, Refusal> {
        self.held(epoch)?;
        let mut step = Step::from_job(self.job);
        step.job.state = State::Completed { outcome };
        step.job.hurried = false;
        step.job.last_code = None;
        Ok(step.with(Effect::CompleteConversation { outcome }))
    }

    /// Spends an attempt: another one after the back-off, or, when the code is fatal or that was the last one, none.
    pub(crate) fn fail(
        &self,
        epoch: Epoch,
        code: FailureCode,
        retry_after: Option<Duration>,
        jitter_permille: i32,
    ) -> Result<Step, Refusal> {
        self.held(epoch)?;
        let mut step = Step::from_job(self.job);
        let attempts = step.job.attempts.saturating_add(1);
        step.job.attempts = attempts;
        step.job.last_code = Some(code);
        if !code.is_retryable() || attempts >= self.policy.max_attempts {
            return Ok(step.dead_letter(code));
        }
        let back_off = self.policy.back_off_after(attempts, jitter_permille);
        let wait = retry_after.map_or(back_off, |asked| asked.max(back_off));
        Ok(step.with(Effect::CountRetry).queue(later(self.now, wait), self.now))
    }

    /// Parks a run whose key the provider refused. It held its user's keys, so from now on the job requires
    /// them, whatever it was admitted with: a refused key must never lead to the service's own.
    pub(crate) fn park(&self, epoch: Epoch) -> Result<Step, Refusal> {
        self.held(epoch)?;
        let mut step = Step::from_job(self.job);
        step.job.requires_keys = true;
        step.job.last_code = Some(FailureCode::ByokKeyRejected);
        Ok(step.park(self.now))
    }

    /// The lease that `epoch` holds. Everything that a run writes passes here.
    fn held(&self, epoch: Epoch) -> Result<&Lease, Refusal> {
        match &self.job.state {
            State::Leased(lease) if lease.epoch == epoch => Ok(lease),
            _ => Err(Refusal::LeaseLost),
        }
    }
}
