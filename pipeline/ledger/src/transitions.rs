//! How a run ends that did not succeed: its job is released, failed or parked. And the deletion of a conversation, which
//! withdraws its job.

use chrono::Duration;
use db::{Error, idempotency::forget_answers};
use job::{Cause, Command, Effect, FailureCode, JobId, Refusal, State, Timestamp};
use outbox::reminders::lock_subscriptions;
use records::{ConversationId, UserId};
use sqlx::PgConnection;
use store::budgets::refund;

use crate::{
    Ledger,
    claim::{LeaseToken, defer},
    effects::{Abort, Written},
    retry_conflicts,
    row::{self, JobRow, Stored},
};

/// What a holder says of its run when it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Given back unharmed, at once or later.
    Release {
        /// Zero for at once.
        delay: Duration,
    },
    /// Failed.
    Fail {
        code: FailureCode,
        /// A provider's Retry-After.
        retry_after: Option<Duration>,
        /// −200..=200.
        jitter_permille: i32,
    },
    /// The user's key was refused.
    Park,
}

/// How a run that did not succeed ended, and what lies behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    pub transition: Transition,
    /// For operators.
    pub cause: Option<Cause>,
}

impl From<Transition> for RunEnd {
    fn from(transition: Transition) -> Self {
        Self { transition, cause: None }
    }
}

/// What came of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Stored.
    Granted {
        /// Where the job stands now.
        state: State,
        /// Another run follows (`listen_finalization_retries_total`).
        retry: bool,
        /// It became a dead letter (`listen_finalization_dead_letter_total`).
        dead_letter: bool,
    },
    /// The domain says no.
    Refused(Refusal),
    /// There is no such job.
    Missing,
}

impl Transition {
    fn command(self, token: &LeaseToken) -> Command {
        let epoch = token.epoch;
        match self {
            Self::Release { delay } => Command::Release { epoch, delay },
            Self::Fail { code, retry_after, jitter_permille } => {
                Command::Fail { epoch, code, retry_after, jitter_permille }
            }
            Self::Park => Command::Park { epoch },
        }
    }
}

impl Answer {
    /// The answer that was lost on the way: its outcome was not counted yet. A release is no retry.
    fn heard_before(command: &Command, state: State) -> Self {
        let retry = matches!((command, &state), (Command::Fail { .. }, State::Queued { .. }));
        let dead_letter = matches!(state, State::DeadLetter { .. });
        Self::Granted { state, retry, dead_letter }
    }
}

impl From<&Written> for Answer {
    fn from(written: &Written) -> Self {
        Self::Granted {
            state: written.stored.job.state.clone(),
            retry: written.counts(Effect::CountRetry),
            dead_letter: written.counts(Effect::CountDeadLetter),
        }
    }
}

impl Ledger {
    /// Records the end of the run whose lease is `token`.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats the same call.
    pub async fn settle(&self, token: &LeaseToken, end: impl Into<RunEnd>) -> Result<Answer, Error> {
        let RunEnd { transition, cause } = end.into();
        let command = transition.command(token);
        retry_conflicts!(
            "settling a run",
            self.try_transition(&token.job_id, command.clone(), cause.as_ref())
        )
    }

    async fn try_transition(
        &self,
        job: &JobId,
        command: Command,
        cause: Option<&Cause>,
    ) -> Result<Answer, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(stored) = row::read(&mut transaction, job).await? else { return Ok(Answer::Missing) };
        let already =
            stored.job.has_heard(&command).then(|| Answer::heard_before(&command, stored.job.state.clone()));
        match self.decide_and_write(&mut transaction, &stored, command, cause, now).await? {
            Err(refusal) => Ok(already.unwrap_or(Answer::Refused(refusal))),
            Ok(written) => {
                transaction.commit().await?;
                self.wake(&written);
                Ok(Answer::from(&written))
            }
        }
    }

    /// Defers a row that errors by five minutes, so that it stops no page.
    pub async fn defer(&self, user: &UserId, job: &JobId) -> Result<(), Error> {
        let mut connection = self.db.pool().acquire().await?;
        defer(&mut connection, user.as_str(), job.as_str()).await
    }

    /// Deletes a conversation with everything that hangs on it, and withdraws its live job, in one transaction
    /// (DECISIONS §3, "delete a conversation"). `false`: no such conversation.
    pub async fn delete_conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
    ) -> Result<bool, Error> {
        retry_conflicts!("deleting a conversation", self.try_delete(user, conversation))
    }

    async fn try_delete(&self, user: &UserId, conversation: &ConversationId) -> Result<bool, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        if let Some(live) = live_job(&mut transaction, user, conversation).await? {
            // A refusal is a job that came to rest meanwhile: nothing to withdraw.
            let _ = self.decide_and_write(&mut transaction, &live, Command::Withdraw, None, now).await?;
        }
        // Its items' pushes go with it.
        lock_subscriptions(&mut transaction, user).await?;
        let deleted: Option<i64> = sqlx::query_scalar(include_str!("../sql/conversations/delete.sql"))
            .bind(user.as_str())
            .bind(conversation.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(bytes) = deleted else { return Ok(false) };
        if live_job(&mut transaction, user, conversation).await?.is_some() {
            return Err(Abort::Conflict); // admitted between our look and the deletion: withdraw that one, too
        }
        erase_traces(&mut transaction, user, conversation, now).await?;
        refund(&mut transaction, user, bytes).await?;
        transaction.commit().await?;
        self.db.waker().job_settled();
        Ok(true)
    }
}

/// The non-terminal job of a conversation; there is one at most.
pub(crate) async fn live_job(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Stored>, Error> {
    let row: Option<JobRow> = sqlx::query_as(include_str!("../sql/jobs/live_of_conversation.sql"))
        .bind(user.as_str())
        .bind(conversation.as_str())
        .fetch_optional(connection)
        .await?;
    row.map(Stored::try_from).transpose()
}

/// What is left of a deleted conversation outside the tables that follow it by foreign key: checkpoints,
/// deliveries (undelivered ones go, the bodies of the others are erased), and the mark that it was deleted.
async fn erase_traces(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    for statement in [
        include_str!("../sql/conversations/forget_checkpoints.sql"),
        include_str!("../sql/conversations/cancel_deliveries.sql"),
        include_str!("../sql/conversations/erase_deliveries.sql"),
    ] {
        sqlx::query(statement)
            .bind(user.as_str())
            .bind(conversation.as_str())
            .execute(&mut *connection)
            .await?;
    }
    forget_answers(connection, user, &[conversation.as_str()]).await?;
    sqlx::query(include_str!("../sql/conversations/note_deleted.sql"))
        .bind(user.as_str())
        .bind(conversation.as_str())
        .bind(now)
        .execute(connection)
        .await
        .map(drop)
}
