//! What a user may use up, and the answer to a request for more.

/// One of the budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Conversations created per UTC day.
    ConversationsPerDay,
    /// Bytes of what was said.
    Bytes,
    /// Jobs that wait or run.
    WaitingJobs,
}

impl Budget {
    /// Every budget.
    pub const ALL: [Self; 3] = [Self::ConversationsPerDay, Self::Bytes, Self::WaitingJobs];

    /// Its name in labels, settings and arguments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConversationsPerDay => "conversations-per-day",
            Self::Bytes => "bytes",
            Self::WaitingJobs => "waiting-jobs",
        }
    }
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
