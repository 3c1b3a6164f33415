//! One operation on one job: decide, store by compare-and-set, and write what the decision wants written with it; and how a run
//! asks for it that did not succeed.

use std::collections::BTreeMap;

use chrono::Duration;
use db::{Error, query};
use job::{Cause, Command, Effect, Epoch, FailureCode, Job, Refusal, State, Step, Timestamp};
use outbox::announce::{Event, Events, announce};
use records::{ConversationId, EventKind, UserId};
use sqlx::{PgConnection, Postgres, Transaction};
use trace::TraceContext;

use crate::{
    LeaseToken, Ledger,
    history::{self, Detail},
    row::{self, StoredJob},
};

/// Why one attempt of an operation did not commit.
#[derive(Debug)]
pub enum Abort {
    /// Another operation stored the job in between: read again, decide again.
    Conflict,
    Failed(Error),
}

impl From<Error> for Abort {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<sqlx::Error> for Abort {
    #[track_caller]
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// How often an operation reads again before it answers [`Error::Contended`].
pub const ATTEMPTS: usize = 16;

/// Repeats an attempt for as long as it loses its compare-and-set.
#[macro_export]
macro_rules! retry_conflicts {
    ($doing:expr, $attempt:expr) => {
        async {
            let mut attempts = 0;
            loop {
                match $attempt.await {
                    Ok(done) => break Ok(done),
                    Err($crate::effects::Abort::Failed(error)) => break Err(error),
                    Err($crate::effects::Abort::Conflict) if attempts < $crate::effects::ATTEMPTS => {
                        attempts += 1
                    }
                    Err($crate::effects::Abort::Conflict) => {
                        break Err(::db::Error::Contended { doing: $doing });
                    }
                }
            }
        }
    };
}

/// What came of a command to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all answers are granted ones")]
pub enum Answer {
    /// It is stored, with its effects; or it was, by an earlier call whose answer was lost.
    Granted {
        /// As it is now.
        job: Job,
        /// Another run follows (`listen_finalization_retries_total`).
        retry: bool,
        /// It became a dead letter (`listen_finalization_dead_letter_total`).
        dead_letter: bool,
    },
    /// The domain says no.
    Refused(Refusal),
    Missing,
}

/// What a holder says of its run when it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Given back unharmed, at once or later.
    Release {
        /// Zero for at once.
        delay: Duration,
    },
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

impl Transition {
    fn command(self, epoch: Epoch) -> Command {
        match self {
            Self::Release { delay } => Command::Release { epoch, delay },
            Self::Fail { code, retry_after, jitter_permille } => {
                Command::Fail { epoch, code, retry_after, jitter_permille }
            }
            Self::Park => Command::Park { epoch },
        }
    }
}

impl Ledger {
    /// Records how the run whose lease is `token` ended without success; `cause` is what lies behind it, for operators.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats the same call.
    pub async fn settle(
        &self,
        token: &LeaseToken,
        transition: Transition,
        cause: Option<&Cause>,
    ) -> Result<Answer, Error> {
        retry_conflicts!("settling a run", async {
            let (mut transaction, now) = self.db.begin().await?;
            let Some(read) = row::read(&mut transaction, &token.job_id).await? else {
                return Ok(Answer::Missing);
            };
            let command = transition.command(token.epoch);
            let answer = self.decide(&mut transaction, &read, command, cause, now).await?;
            self.commit(transaction, answer).await
        })
        .await
    }

    /// Decides `command` on a job that was read, stores it and writes its effects, inside the caller's transaction. `cause` is
    /// what lies behind a failure or a release. Completion writes the conversation and the totals itself; every other effect is
    /// written here.
    pub(crate) async fn decide(
        &self,
        connection: &mut PgConnection,
        read: &StoredJob,
        command: Command,
        cause: Option<&Cause>,
        now: Timestamp,
    ) -> Result<Answer, Abort> {
        let has_failed = matches!(command, Command::Fail { .. });
        let was_applied = read.job.has_applied(&command);
        let (stored, effects) = match self.step(read, command, now, Detail { cause, ..Detail::default() }) {
            Ok(step) => step,
            // The answer that was lost on the way: its outcome was not counted yet. A release is no retry.
            Err(_) if was_applied => {
                return Ok(Answer::Granted {
                    retry: has_failed && matches!(read.job.state, State::Queued { .. }),
                    dead_letter: matches!(read.job.state, State::DeadLetter { .. }),
                    job: read.job.clone(),
                });
            }
            Err(refusal) => return Ok(Answer::Refused(refusal)),
        };
        if row::store(connection, &[&stored], now, &self.policy).await?.is_empty() {
            return Err(Abort::Conflict);
        }
        write_effects(connection, &read.job, &stored, &effects, now).await?;
        Ok(Answer::Granted {
            retry: effects.contains(&Effect::CountRetry),
            dead_letter: effects.contains(&Effect::CountDeadLetter),
            job: stored.job,
        })
    }

    /// Decides `command` on a job that was read: the row to store, with its entry of history, and what is to be written with it.
    /// The row's version is raised by the statement that stores it.
    pub(crate) fn step(
        &self,
        read: &StoredJob,
        command: Command,
        now: Timestamp,
        detail: Detail<'_>,
    ) -> Result<(StoredJob, Vec<Effect>), Refusal> {
        let detail = Detail { verb: history::verb(&command), ..detail };
        let Step { job, effects } = job::decide(&read.job, command, now, &self.policy)?;
        let event = history::event(&read.job, &job, read.version + 1, now, detail);
        Ok((StoredJob { job, event, ..read.clone() }, effects))
    }

    /// Ends the transaction of a decision: what was granted is committed, and what waits for it is woken.
    pub(crate) async fn commit(
        &self,
        transaction: Transaction<'static, Postgres>,
        answer: Answer,
    ) -> Result<Answer, Abort> {
        if let Answer::Granted { job, .. } = &answer {
            transaction.commit().await?;
            self.wake(job);
        }
        Ok(answer)
    }

    /// After the commit of a change: wakes what waits in this process for a job in this state.
    pub fn wake(&self, job: &Job) {
        self.wake_workers(job);
        if matches!(job.state, State::DeadLetter { .. }) {
            self.db.waker().deliveries_written();
        }
        self.db.waker().job_settled();
    }

    /// After the commit of an admission or a change.
    pub(crate) fn wake_workers(&self, job: &Job) {
        if matches!(job.state, State::Queued { .. }) {
            self.db.waker().job_queued(job.queue);
        }
    }
}

/// Writes the effects of a stored step in the lock order: conversation, deliveries, totals.
async fn write_effects(
    connection: &mut PgConnection,
    before: &Job,
    after: &StoredJob,
    effects: &[Effect],
    now: Timestamp,
) -> Result<(), Error> {
    for effect in effects {
        match effect {
            Effect::FailConversation { .. } => fail_conversation(connection, after, now).await?,
            Effect::ReopenConversation => {
                query!("conversations/process_again.sql", &after.user_id, &after.conversation_id, now)
                    .execute(&mut *connection)
                    .await?;
            }
            // The stored row is the queue's entry; completion writes its conversations itself.
            Effect::CompleteConversation { .. }
            | Effect::CountRetry
            | Effect::CountDeadLetter
            | Effect::Enqueue { .. } => {}
        }
    }
    count_totals(connection, &[(before, &after.job)]).await?;
    count_dead_letters(connection, before, &after.job).await
}

/// A dead letter's conversation is failed and discarded, whichever transition led here; the completed conversation
/// of a reprocess stays as it was and no webhook is sent (DECISIONS §4).
async fn fail_conversation(
    connection: &mut PgConnection,
    job: &StoredJob,
    now: Timestamp,
) -> Result<(), Error> {
    let failed = query!("conversations/fail.sql", &job.user_id, &job.conversation_id, now)
        .execute(&mut *connection)
        .await?;
    if failed.rows_affected() == 0 {
        return Ok(());
    }
    let about = (&job.user_id, &job.conversation_id, job.revision);
    announce_failed(connection, about, job.trace, now).await
}

/// Writes the `conversation.failed` deliveries of a revision, as part of the trace of its admission.
pub(crate) async fn announce_failed(
    connection: &mut PgConnection,
    (user, conversation, revision): (&UserId, &ConversationId, i64),
    trace: Option<TraceContext>,
    now: Timestamp,
) -> Result<(), Error> {
    let events = vec![Event { event: EventKind::ConversationFailed, subject: None }];
    let entries = [Events { user, of: Some((conversation, revision)), events, trace }];
    announce(connection, &entries, now).await.map(drop)
}

/// Totals of finished jobs follow every transition into and out of rest, in one of sixteen stripes: that of the first job
/// that changed, as only their sum means something.
pub(crate) async fn count_totals(
    connection: &mut PgConnection,
    changes: &[(&Job, &Job)],
) -> Result<(), Error> {
    let total = |job: &Job| job.state.is_terminal().then(|| job.state.status());
    let mut totals: BTreeMap<&str, i64> = BTreeMap::new();
    for (before, after) in changes {
        let (from, to) = (total(before), total(after));
        from.into_iter().for_each(|status| *totals.entry(status).or_default() -= 1);
        to.into_iter().for_each(|status| *totals.entry(status).or_default() += 1);
    }
    for (status, change) in totals.into_iter().filter(|(_, change)| *change != 0) {
        add_to_total(connection, status, changes[0].1.id.as_str(), change).await?;
    }
    Ok(())
}

/// Dead letters are counted by code too, and apart once they are settled.
async fn count_dead_letters(connection: &mut PgConnection, before: &Job, after: &Job) -> Result<(), Error> {
    let place = |job: &Job| Some((job.state.dead_code()?.as_str(), job.settled_at.is_some()));
    let (from, to) = (place(before), place(after));
    if from == to {
        return Ok(());
    }
    for ((code, settled), change) in from.map(|from| (from, -1_i64)).into_iter().chain(to.map(|to| (to, 1))) {
        add_to_dead_total(connection, (code, settled), after.id.as_str(), change).await?;
    }
    Ok(())
}

/// Changes the total of a status, in the stripe of a job.
pub async fn add_to_total(
    connection: &mut PgConnection,
    status: &str,
    job: &str,
    change: i64,
) -> Result<(), sqlx::Error> {
    query!("jobs/add_to_total.sql", status, job, change).execute(connection).await.map(drop)
}

/// Changes the total of a code's dead letters, settled or not, in the stripe of a job. A transaction that changes several does so
/// in the order of their codes, and within a code in that of the stripes.
pub async fn add_to_dead_total(
    connection: &mut PgConnection,
    (code, settled): (&str, bool),
    job: &str,
    change: i64,
) -> Result<(), sqlx::Error> {
    query!("jobs/add_to_dead_total.sql", code, settled, job, change).execute(connection).await.map(drop)
}
