//! Whether a holder's word was taken already.
//!
//! A connection can be cut between a commit and its answer. The holder then says the same again, and the fence
//! refuses it: the lease that it speaks of is over, ended by the very word that it repeats.

use crate::{Command, FailureCode, Job, State};

impl Job {
    /// Whether this job stands where `command`, said by the holder of its newest claim, has brought it: saying it
    /// again is no news, and its refusal no loss. `Renew` is such a word when the claim's own completion is what
    /// ended its lease. Never true of a job that another process moved on; where the row cannot tell (a job that
    /// was parked after a crash looks like one that was parked after a failure), the answer is `false`.
    pub fn has_applied(&self, command: &Command) -> bool {
        match *command {
            // A withdrawal raises the epoch: a run that reads its own epoch on a completed job has completed it.
            Command::Renew { epoch } => self.epoch == epoch && matches!(self.state, State::Completed { .. }),
            Command::Complete { epoch, outcome } => {
                self.epoch == epoch && self.state == State::Completed { outcome }
            }
            Command::Fail { epoch, code, .. } => self.epoch == epoch && self.has_failed(code),
            Command::Release { epoch, .. } => self.epoch == epoch && self.was_given_back(),
            Command::Park { epoch } => {
                self.epoch == epoch
                    && self.state == State::BlockedByok
                    && self.last_code == Some(FailureCode::ByokKeyRejected)
            }
            _ => false,
        }
    }

    /// One claim has one end: a failure that left the same row was sent by this very run. The other
    /// ways back into the queue leave a mark: a `Reconcile` sets `next_check_at`, a replay admits at the moment from which
    /// the job is ready.
    fn was_given_back(&self) -> bool {
        matches!(self.state, State::Queued { ready_at } if self.next_check_at.is_none() && ready_at > self.admitted_at)
    }

    /// The only other ways back into the queue leave a mark: a `Reconcile` sets `next_check_at`, a replay clears the code.
    fn has_failed(&self, code: FailureCode) -> bool {
        match &self.state {
            State::DeadLetter { code: dead } => *dead == code,
            State::Queued { .. } => self.next_check_at.is_none() && self.last_code == Some(code),
            State::Leased(_) | State::BlockedByok | State::Completed { .. } => false,
        }
    }
}
