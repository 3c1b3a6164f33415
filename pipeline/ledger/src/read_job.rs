//! The poll: what a client sees of its newest job.

use db::Error;
use job::{Cause, FailureCode, Generation, JobId, Outcome, State, Timestamp};
use records::{ConversationId, Status, UserId};

use crate::{
    Ledger,
    history::History,
    row::{JobRow, StoredJob},
};

/// What a poll shows of the newest revision's job (DECISIONS §4, "poll").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    pub job_id: JobId,
    /// queued, leased, completed, dead_letter or blocked_byok.
    pub status: &'static str,
    pub terminal: bool,
    pub retryable: bool,
    /// Runs begun and not released.
    pub attempt_count: u32,
    /// Failed runs and crashes so far.
    pub task_retry_count: u32,
    pub dispatch_generation: Generation,
    /// The newest failure.
    pub failure_code: Option<&'static str>,
    pub outcome: Option<&'static str>,
    /// When it was admitted first.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The row's version: an ETag's matter.
    pub version: i64,
    /// Whether it waits for a later moment (a back-off, or a release with a delay).
    pub backing_off: bool,
    /// What lies behind the last failure or release of a job that is not completed.
    pub cause: Option<Cause>,
    /// Whether a finalize would admit the next revision: the conversation failed.
    pub can_finalize_again: bool,
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
            let row: Option<PollRow> = sqlx::query_as(include_str!("../sql/jobs/newest_of_conversation.sql"))
                .bind(user.as_str())
                .bind(conversation.as_str())
                .fetch_optional(self.db.pool())
                .await?;
            row.map(poll).transpose()
        };
        self.db.in_time(read).await
    }
}

fn poll(row: PollRow) -> Result<Poll, Error> {
    let stored = StoredJob::try_from(row.job)?;
    let job = stored.job;
    Ok(Poll {
        cause: match job.state {
            State::Completed { .. } => None,
            _ => row.history.last_cause(),
        },
        can_finalize_again: row.conversation_status == Status::Failed.as_str(),
        status: job.state.status(),
        terminal: job.state.is_terminal(),
        retryable: matches!(job.state, State::Queued { .. }),
        attempt_count: job.runs,
        task_retry_count: job.attempts + job.crashes,
        dispatch_generation: job.generation,
        failure_code: job.failure_code().map(FailureCode::as_str),
        outcome: job.state.outcome().map(Outcome::as_str),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        version: stored.version,
        backing_off: matches!(job.state, State::Queued { ready_at } if ready_at > stored.updated_at),
        job_id: job.id,
    })
}
