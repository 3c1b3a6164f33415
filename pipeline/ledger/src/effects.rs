//! One operation on one job: decide, store by compare-and-set, and write what the decision wants written with it.

use std::collections::BTreeMap;

use db::Error;
use job::{Cause, Command, Effect, Job, Refusal, State, Step, Timestamp, decide};
use outbox::announce::{Event, Events, announce};
use records::{ConversationId, EventKind, UserId};
use sqlx::{PgConnection, Postgres, Transaction};
use trace::TraceContext;

use crate::{
    Ledger,
    history::{self, Detail},
    row::{self, Stored},
};

/// Why one attempt of an operation did not commit.
#[derive(Debug)]
pub enum Abort {
    /// Another operation stored the job in between: read again, decide again.
    Conflict,
    /// The database failed.
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
    ($doing:expr, $attempt:expr) => {{
        let mut attempts = 0;
        loop {
            match $attempt.await {
                Ok(done) => break Ok(done),
                Err($crate::effects::Abort::Failed(error)) => break Err(error),
                Err($crate::effects::Abort::Conflict) if attempts < $crate::effects::ATTEMPTS => {
                    attempts += 1
                }
                Err($crate::effects::Abort::Conflict) => break Err(::db::Error::Contended { doing: $doing }),
            }
        }
    }};
}

/// A granted command as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The row as it is now.
    pub stored: Stored,
    /// What was written with it.
    pub effects: Vec<Effect>,
    /// How many webhook deliveries were written with it.
    pub deliveries: u64,
}

impl Written {
    /// Whether `effect` is one of them.
    pub fn counts(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }
}

impl Ledger {
    /// Decides `command` on a job that was read, stores it and writes its effects, inside the caller's transaction. `cause` is
    /// what lies behind a failure or a release. Completion writes the conversation and the totals itself; every other effect is
    /// written here.
    pub(crate) async fn decide_and_write(
        &self,
        connection: &mut PgConnection,
        read: &Stored,
        command: Command,
        cause: Option<&Cause>,
        now: Timestamp,
    ) -> Result<Result<Written, Refusal>, Abort> {
        let detail = Detail { cause, ..Detail::of(&command) };
        let step = match decide(&read.job, command, now, &self.policy) {
            Ok(step) => step,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let stored = after(read, &step, now, detail);
        let kept = row::store(connection, &[&stored], now, &self.policy).await?;
        if kept.is_empty() {
            return Err(Abort::Conflict);
        }
        let deliveries = self.write_effects(connection, read, &stored, &step, now).await?;
        Ok(Ok(Written { stored, effects: step.effects, deliveries }))
    }

    /// The same, and the whole of a transaction: what was written is committed, and what waits for it is woken.
    pub(crate) async fn decide_and_commit(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        read: &Stored,
        command: Command,
        cause: Option<&Cause>,
        now: Timestamp,
    ) -> Result<Result<Written, Refusal>, Abort> {
        let decided = self.decide_and_write(&mut transaction, read, command, cause, now).await?;
        if let Ok(written) = &decided {
            transaction.commit().await?;
            self.wake(written);
        }
        Ok(decided)
    }

    /// Writes the effects of a stored step in the lock order: conversation, deliveries, totals.
    async fn write_effects(
        &self,
        connection: &mut PgConnection,
        before: &Stored,
        after: &Stored,
        step: &Step,
        now: Timestamp,
    ) -> Result<u64, Abort> {
        let mut deliveries = 0;
        for effect in &step.effects {
            match effect {
                Effect::FailConversation { .. } => {
                    deliveries += fail_conversation(connection, after, now).await?;
                }
                Effect::ReopenConversation => {
                    sqlx::query(include_str!("../sql/conversations/process_again.sql"))
                        .bind(after.user_id.as_str())
                        .bind(after.conversation_id.as_str())
                        .bind(now)
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
        count_totals(connection, &[(&before.job, &after.job)]).await?;
        count_dead_letters(connection, &before.job, &after.job).await?;
        Ok(deliveries)
    }

    /// After the commit: wakes what waits in this process.
    pub fn wake(&self, written: &Written) {
        self.wake_workers(&written.stored.job, &written.effects);
        if written.deliveries > 0 {
            self.db.waker().deliveries_written();
        }
        self.db.waker().job_settled();
    }

    /// After the commit of admissions.
    pub(crate) fn wake_all(&self, steps: &[Step]) {
        steps.iter().for_each(|step| self.wake_workers(&step.job, &step.effects));
    }

    fn wake_workers(&self, job: &Job, effects: &[Effect]) {
        if effects.iter().any(|effect| matches!(effect, Effect::Enqueue { .. })) {
            self.db.waker().job_queued(job.queue);
        }
    }
}

/// The row to store after a step: its version is raised by the statement, its history entry is added here.
pub(crate) fn after(read: &Stored, step: &Step, now: Timestamp, detail: Detail<'_>) -> Stored {
    let event = history::event(&read.job, &step.job, read.version + 1, now, detail);
    Stored { job: step.job.clone(), event, ..read.clone() }
}

/// A dead letter's conversation is failed and discarded, whichever transition led here; the completed conversation
/// of a reprocess stays as it was and no webhook is sent (DECISIONS §4).
async fn fail_conversation(
    connection: &mut PgConnection,
    job: &Stored,
    now: Timestamp,
) -> Result<u64, Error> {
    let failed = sqlx::query(include_str!("../sql/conversations/fail.sql"))
        .bind(job.user_id.as_str())
        .bind(job.conversation_id.as_str())
        .bind(now)
        .execute(&mut *connection)
        .await?;
    if failed.rows_affected() == 0 {
        return Ok(0);
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
) -> Result<u64, Error> {
    let events = vec![Event { event: EventKind::ConversationFailed, subject: None }];
    let entries = [Events { user, of: Some((conversation, revision)), events, trace }];
    Ok(announce(connection, &entries, now).await?.into_iter().sum())
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
        sqlx::query(include_str!("../sql/jobs/add_to_total.sql"))
            .bind(status)
            .bind(changes[0].1.id.as_str())
            .bind(change)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Dead letters are counted by code too, and apart once they are settled.
async fn count_dead_letters(connection: &mut PgConnection, before: &Job, after: &Job) -> Result<(), Error> {
    let place = |job: &Job| match job.state {
        State::DeadLetter { code } => Some((code.as_str(), job.settled_at.is_some())),
        _ => None,
    };
    let (from, to) = (place(before), place(after));
    if from == to {
        return Ok(());
    }
    for ((code, settled), change) in from.map(|from| (from, -1_i64)).into_iter().chain(to.map(|to| (to, 1))) {
        sqlx::query(include_str!("../sql/jobs/add_to_dead_total.sql"))
            .bind(code)
            .bind(settled)
            .bind(after.id.as_str())
            .bind(change)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
