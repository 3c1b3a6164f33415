//! What goes with a job's next state.

use crate::{FailureCode, Outcome, Timestamp};

/// What must be written together with the job, in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The job is in its queue again, claimable from `at`: wake workers, or hand a task over to the task queue.
    Enqueue {
        /// From when it may be claimed.
        at: Timestamp,
    },
    /// The conversation is completed (kept or discarded), with its results and deliveries.
    CompleteConversation {
        /// How.
        outcome: Outcome,
    },
    /// The conversation is failed and discarded and its endpoints are notified; of a reprocess, nothing of it changes.
    FailConversation {
        /// Why.
        code: FailureCode,
    },
    /// The conversation is processing again and the dead letter's discarded mark is taken back; of a
    /// reprocess, nothing of it changes.
    ReopenConversation,
    /// A failed or crashed run leads to another one (`listen_finalization_retries_total`).
    CountRetry,
    /// A dead letter was made (`listen_finalization_dead_letter_total`).
    CountDeadLetter,
}
