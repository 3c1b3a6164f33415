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
    /// A step that changes nothing but what every edge takes back: a look that an earlier `Reconcile` asked
    /// for, and the mark of a bell that could not be written.
    pub(crate) fn from_job(job: &Job) -> Self {
        Self { job: Job { look_at: None, unrung: false, ..job.clone() }, effects: Vec::new() }
    }

    /// Whether a bell goes with it.
    pub fn rings(&self) -> bool {
        self.effects.iter().any(|effect| effect.ring_at().is_some())
    }

    /// Adds an effect behind those that are there.
    pub(crate) fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Puts the job into its queue and rings; a job that requires keys is parked instead and rings nothing.
    pub(crate) fn queue(mut self, ready_at: Timestamp, now: Timestamp) -> Self {
        if self.job.requires_keys {
            return self.park(now);
        }
        self.job.state = State::Queued { ready_at };
        self.job.ring = self.job.ring.next();
        self.with(Effect::Ring { at: ready_at })
    }

    /// Parks the job until its user brings keys. Its deadline counts from the first time.
    pub(crate) fn park(mut self, now: Timestamp) -> Self {
        self.job.state = State::BlockedByok;
        self.job.first_blocked_at.get_or_insert(now);
        self
    }

    /// Gives the job up: the only way into `DeadLetter`, so that all of them tell the same.
    pub(crate) fn bury(mut self, code: FailureCode) -> Self {
        self.job.state = State::DeadLetter { code };
        self.job.last_code = Some(code);
        self.with(Effect::FailConversation { code }).with(Effect::CountDeadLetter)
    }

    /// Counts a run that nobody ended, and goes on as told unless that was one too many.
    pub(crate) fn crash_then(mut self, policy: &Policy, go_on: impl FnOnce(Self) -> Self) -> Self {
        self.job.crashes = self.job.crashes.saturating_add(1);
        self.job.crashed_epoch = Some(self.job.epoch);
        if self.job.crashes >= policy.max_crashes {
            return self.bury(FailureCode::PoisonCrash);
        }
        go_on(self.with(Effect::CountRetry))
    }
}
