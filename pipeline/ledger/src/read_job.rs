//! The poll: what a client sees of its newest job.

use job::{Generation, JobId, State, Timestamp};
use records::{ConversationId, UserId};

use crate::{
    Ledger,
    error::Error,
    reading::{Keys, Reading, for_each},
    row::{JobRow, Stored},
};

/// What a poll shows of the newest revision's job (DECISIONS §4, "poll").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Its id.
    pub job_id: JobId,
    /// queued, leased, completed, dead_letter or blocked_byok.
    pub status: &'static str,
    /// Completed or dead_letter.
    pub terminal: bool,
    /// Queued.
    pub retryable: bool,
    /// Runs begun and not released.
    pub attempt_count: u32,
    /// Failed runs and crashes so far.
    pub task_retry_count: u32,
    /// The newest dispatch.
    pub dispatch_generation: Generation,
    /// The newest failure.
    pub failure_code: Option<&'static str>,
    /// How it completed.
    pub outcome: Option<&'static str>,
    /// When it was admitted first.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The row's version: an ETag's matter.
    pub version: i64,
    /// Whether it waits for a later moment (a back-off, or a release with a delay).
    pub backing_off: bool,
}

impl Ledger {
    /// The poll of a conversation's newest revision; `None` when there is no conversation or no job. Polls that come
    /// together are read together: whoever waits for a job of its own asks whenever any job has ended.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn poll(&self, user: &UserId, conversation: &ConversationId) -> Result<Option<Poll>, Error> {
        let all = async |ledger: Self, batch: Vec<_>| ledger.in_time(ledger.newest(&batch)).await;
        let newest = self.polls.ask(self, (user.clone(), conversation.clone()), all).await?;
        Ok(newest.map(Stored::try_from).transpose()?.map(poll))
    }

    /// The newest jobs of a batch of conversations, in its order.
    async fn newest(&self, batch: &[(UserId, ConversationId)]) -> Result<Vec<Option<JobRow>>, Error> {
        const DOING: &str = "polling jobs";
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let mut reading = Reading::new(&mut session, batch.len(), DOING);
        let asked = batch.iter().enumerate().map(|(place, (user, conversation))| (place, user, conversation));
        let give = |newest: &mut Option<JobRow>, row| *newest = Some(row);
        reading.each(&Keys::of(asked), NEWEST, give).await?;
        let found = reading.found();
        session.keep();
        Ok(found)
    }
}

const NEWEST: &str = for_each!(
    "select j.* from finalization_jobs j join conversations c using (user_id, conversation_id) \
     where j.user_id = k.user_id and j.conversation_id = k.conversation_id order by j.revision desc limit 1"
);

fn poll(stored: Stored) -> Poll {
    let job = stored.job;
    Poll {
        status: job.state.status(),
        terminal: job.state.is_terminal(),
        retryable: matches!(job.state, State::Queued { .. }),
        attempt_count: job.runs,
        task_retry_count: job.attempts + job.crashes,
        dispatch_generation: job.generation,
        failure_code: match job.state {
            State::DeadLetter { code } => Some(code.as_str()),
            _ => job.last_code.map(|code| code.as_str()),
        },
        outcome: match job.state {
            State::Completed { outcome } => Some(outcome.as_str()),
            _ => None,
        },
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        version: stored.version,
        backing_off: matches!(job.state, State::Queued { ready_at } if ready_at > stored.updated_at),
        job_id: job.id,
    }
}
