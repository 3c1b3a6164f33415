//! The answers that leave a job as it is.

use crate::Timestamp;

/// The domain says no. An answer, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The delivery's generation is older than the job's.
    StaleGeneration,
    /// The delivery's generation is newer than the job's.
    UnknownGeneration,
    /// The job is terminal.
    AtRest,
    /// Another run holds the lease until then.
    LeaseHeld {
        /// When it expires.
        until: Timestamp,
    },
    /// The job waits for its user's keys.
    Blocked,
    /// The job is backing off until then.
    NotYet {
        /// When it is ready.
        until: Timestamp,
    },
    /// The epoch is not the present one, or the job is not leased; or, of a proof, no crash of that claim is counted.
    LeaseLost,
    /// The job waits for nothing but a slot: there is no wait to end.
    Ready,
    /// The run limit is over: the edge that follows is `Fail(run_timeout)`.
    RunLimit,
    /// Releases with a delay are no longer free: the worker says `Fail`.
    TooLate,
    /// Nothing to repair now.
    NotDue,
    /// Only a dead letter can be replayed or settled.
    NotDead,
    /// A newer revision exists.
    Superseded,
    /// The conversation was deleted.
    ConversationGone,
}
