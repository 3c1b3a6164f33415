//! The poll: what a client sees of its newest job.

use db::{Error, query_as};
use job::{Cause, State};
use records::{ConversationId, Status, UserId};

use crate::{
    Ledger,
    history::History,
    row::{JobRow, StoredJob},
};

/// What a poll shows of the newest revision's job (DECISIONS §4, "poll").
#[derive(Clone, Debug, PartialEq)]
pub struct Poll {
    pub stored: StoredJob,
    /// What lies behind the last failure or release of a job that is not completed.
    pub cause: Option<Cause>,
    /// Whether a finalize would do something: the conversation failed and is admitted anew, or the job is parked and resumed with
    /// the keys that the finalize brings.
    pub can_finalize_again: bool,
}

impl Poll {
    /// Whether it waits for a later moment (a back-off, or a release with a delay), or for its user's keys.
    pub fn waits_longer(&self) -> bool {
        match self.stored.job.state {
            State::Queued { ready_at } => ready_at > self.stored.updated_at,
            State::BlockedByok => true,
            _ => false,
        }
    }
}

/// The job, its history, and what its conversation says.
#[derive(sqlx::FromRow)]
struct PollRow {
    #[sqlx(flatten)]
    job: JobRow,
    history: History,
    conversation_status: String,
}

impl Ledger {
    /// The poll of a conversation's newest revision; `None` when there is no conversation or no job.
    pub async fn poll(&self, user: &UserId, conversation: &ConversationId) -> Result<Option<Poll>, Error> {
        let read = async {
            let row: Option<PollRow> = query_as!("jobs/newest_of_conversation.sql", user, conversation)
                .fetch_optional(self.db.pool())
                .await?;
            row.map(poll).transpose()
        };
        self.db.in_time(read).await
    }
}

fn poll(row: PollRow) -> Result<Poll, Error> {
    let stored = StoredJob::try_from(row.job)?;
    Ok(Poll {
        cause: match stored.job.state {
            State::Completed { .. } => None,
            _ => row.history.last_cause(),
        },
        can_finalize_again: row.conversation_status == Status::Failed.as_str()
            || stored.job.state == State::BlockedByok,
        stored,
    })
}
