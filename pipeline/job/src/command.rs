//! The commands that a job can receive, and their senders.

use chrono::Duration;

use crate::{Epoch, FailureCode, Generation, Outcome, WorkerId};

/// A command to a job (DESIGN §3). New jobs are built by [`Job::admit`](crate::Job::admit).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// A worker wants to run it.
    Claim {
        /// The generation that the delivery names.
        generation: Generation,
        /// Who asks.
        worker: WorkerId,
        /// Whether the claimant holds the user's own keys.
        keys: bool,
    },
    /// The holder lives.
    Renew {
        /// The holder's claim.
        epoch: Epoch,
    },
    /// A former holder, whose claim's expired lease was counted as a crash, proves that it lives: the crash is taken back,
    /// the lease is not given back.
    ProveAlive {
        /// The former holder's claim.
        epoch: Epoch,
    },
    /// The holder gives the job back unharmed: at once (it is being stopped, or the session that held the
    /// keys ends) or later (an engine's circuit is open).
    Release {
        /// The holder's claim.
        epoch: Epoch,
        /// Not before this long from now; zero, or less, for at once.
        delay: Duration,
    },
    /// The run succeeded.
    Complete {
        /// The holder's claim.
        epoch: Epoch,
        /// How it ended.
        outcome: Outcome,
    },
    /// The run failed.
    Fail {
        /// The holder's claim.
        epoch: Epoch,
        /// Why.
        code: FailureCode,
        /// A provider's Retry-After, if it gave one.
        retry_after: Option<Duration>,
        /// Back-off jitter in thousandths, −200..=200 (what lies outside is cut): chance is an argument.
        jitter_permille: i32,
    },
    /// The provider refused the user's key: parked again, no attempt.
    Park {
        /// The holder's claim.
        epoch: Epoch,
    },
    /// The user was marked as bringing own keys: from now on the job requires them. Said for each of the
    /// user's live jobs; a run in progress may finish.
    RequireKeys,
    /// The reconciler or the lease watch looks.
    Reconcile {
        /// The task of the present dispatch still waits to be delivered. Where the job table is the queue it always
        /// does: the job itself is the task.
        task_waiting: bool,
    },
    /// An operator fixed the cause.
    Replay {
        /// A newer revision of the conversation exists.
        superseded: bool,
        /// The conversation was deleted.
        conversation_gone: bool,
        /// The user's mark, read again.
        requires_keys: bool,
    },
    /// An operator marks a dead letter as settled.
    Discard,
    /// The next revision of its conversation was admitted: no operator needs to look at a dead letter of an earlier one.
    Supersede,
    /// An operator does not wait for the end of a back-off or of an open circuit.
    RunNow,
    /// An operator ends a live job: a dead letter that is settled already.
    Cancel,
    /// The user deletes the conversation.
    Withdraw,
}
