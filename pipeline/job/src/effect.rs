//! What goes with a job's next state.

use crate::{FailureCode, Outcome, Timestamp};

/// What must be written together with the job, in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Write a bell for the job's present (queue, ring, generation), due at `at`.
    Ring {
        /// When it may be taken.
        at: Timestamp,
    },
    /// The conversation is completed (kept or discarded), with its results and deliveries.
    CompleteConversation {
        /// How.
        outcome: Outcome,
    },
    /// The conversation is failed and discarded and its endpoints are told; of a reprocess, nothing of it changes.
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
    /// An operator action is recorded.
    RecordAction,
}

impl Effect {
    /// When the bell that this effect asks for may be taken, if it asks for one.
    pub fn ring_at(&self) -> Option<Timestamp> {
        match self {
            Self::Ring { at } => Some(*at),
            _ => None,
        }
    }
}
