//! What a user may use up, and the answer to a request for more.

use crate::named;

named! {
    /// One of the budgets: conversations created per UTC day, bytes of what was said, jobs that wait or run.
    Budget { ConversationsPerDay = "conversations-per-day", Bytes = "bytes", WaitingJobs = "waiting-jobs" }
}

/// A budget that a request would exceed; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Which.
    pub budget: Budget,
    /// The user's limit.
    pub limit: i64,
    /// Whole seconds after which there is room again, where time makes room.
    pub retry_after: Option<u64>,
}
