//! Whether a command was already applied.
//!
//! A connection can break between a commit and its answer. The holder then repeats its command, and the fence refuses it,
//! because the lease was ended by that very command.

use crate::{Command, FailureCode, Job, State};

impl Job {
    /// Whether `command`, sent by the holder of the newest claim, has already brought this job into its state, so that
    /// the refusal of a repeat loses nothing. True for `Renew` when the claim's own completion ended the lease. Never true
    /// of a job that another process changed since; `false` where the row cannot tell (a job parked after a crash looks
    /// like one parked after a failure).
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
