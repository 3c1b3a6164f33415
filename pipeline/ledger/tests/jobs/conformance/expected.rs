//! What is expected to be stored: jobs that only `job::decide` has changed.

use chrono::Duration;
use job::{Job, Lease, State, Timestamp};
use records::{ConversationId, UserId};

/// A conversation and the jobs of its revisions, oldest first.
pub(crate) struct ExpectedConversation {
    pub(crate) user: usize,
    pub(crate) id: ConversationId,
    /// The conversation's status; `None` once it is deleted.
    pub(crate) status: Option<&'static str>,
    pub(crate) jobs: Vec<ExpectedJob>,
}

/// A job as it should be stored.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedJob {
    pub(crate) job: Job,
    pub(crate) version: i64,
}

impl ExpectedJob {
    /// A dead letter that is not settled.
    pub(crate) fn is_unsettled_dead_letter(&self) -> bool {
        matches!(self.job.state, State::DeadLetter { .. }) && self.job.settled_at.is_none()
    }
}

/// A user, and whether the user's jobs require keys.
pub(crate) struct ExpectedUser {
    pub(crate) id: UserId,
    pub(crate) requires_keys: bool,
}

/// The job with all its times moved into the past by `by`.
pub(crate) fn aged(job: &Job, by: Duration) -> Job {
    let back = |at: Timestamp| at - by;
    let state = match &job.state {
        State::Queued { ready_at } => State::Queued { ready_at: back(*ready_at) },
        State::Leased(lease) => State::Leased(Lease {
            ready_at: back(lease.ready_at),
            claimed_at: back(lease.claimed_at),
            expires_at: back(lease.expires_at),
            ..lease.clone()
        }),
        other => other.clone(),
    };
    Job {
        state,
        admitted_at: back(job.admitted_at),
        first_blocked_at: job.first_blocked_at.map(back),
        settled_at: job.settled_at.map(back),
        next_check_at: job.next_check_at.map(back),
        ..job.clone()
    }
}
