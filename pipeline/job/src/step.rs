//! A granted command, and the few moves that every edge is made of.
//!
//! Edges do not write states by themselves where a rule hangs on the state: all that queue, park or give up
//! a job come through here, so that each rule has one place.

use crate::{Effect, FailureCode, Job, Policy, State, Timestamp};

/// A granted command: the job afterwards and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The job to store.
    pub job: Job,
    /// In the order in which they are to be written.
    pub effects: Vec<Effect>,
}

impl Step {
    /// A step that changes nothing but the next check, which every transition clears.
    pub(crate) fn from_job(job: &Job) -> Self {
        Self { job: Job { next_check_at: None, ..job.clone() }, effects: Vec::new() }
    }

    /// Adds an effect behind those that are there.
    pub(crate) fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Enqueues the job; a job that requires keys is parked instead.
    pub(crate) fn queue(mut self, ready_at: Timestamp, now: Timestamp) -> Self {
        if self.job.requires_keys {
            return self.park(now);
        }
        self.job.state = State::Queued { ready_at };
        self.job.hurried = false;
        self.job.dispatch = self.job.dispatch.next();
        self.with(Effect::Enqueue { at: ready_at })
    }

    /// Parks the job until its user brings keys. Its deadline counts from the first time.
    pub(crate) fn park(mut self, now: Timestamp) -> Self {
        self.job.state = State::BlockedByok;
        self.job.hurried = false;
        self.job.first_blocked_at.get_or_insert(now);
        self
    }

    /// Gives the job up: the only way into `DeadLetter`, so that all of them tell the same.
    pub(crate) fn dead_letter(mut self, code: FailureCode) -> Self {
        self.job.state = State::DeadLetter { code };
        self.job.hurried = false;
        self.job.last_code = Some(code);
        self.with(Effect::FailConversation { code }).with(Effect::CountDeadLetter)
    }

    /// Counts a run that never ended, and continues with `go_on` unless that was one too many.
    pub(crate) fn crash_then(mut self, policy: &Policy, go_on: impl FnOnce(Self) -> Self) -> Self {
        self.job.crashes = self.job.crashes.saturating_add(1);
        self.job.crashed_epoch = Some(self.job.epoch);
        if self.job.crashes >= policy.max_crashes {
            return self.dead_letter(FailureCode::PoisonCrash);
        }
        go_on(self.with(Effect::CountRetry))
    }
}
