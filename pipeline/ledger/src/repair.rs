//! What the lease watch and the reconciler repair: bounded pages of what is due, `Reconcile`, said to one job as a part of its
//! trace, and the sweep.

use db::{
    Error,
    cursor::{self, Cursor, KeysetPage},
    query_as, query_scalar, sql,
};
use job::{Command, Dispatch, JobId, Refusal, Timestamp};
use records::{ConversationId, UserId};
use sqlx::{Connection as _, PgConnection};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    Ledger,
    effects::{Abort, Answer, announce_failed},
    retry_conflicts,
    row::{self, StoredJob},
};

impl Ledger {
    /// At most `limit` due jobs after `after`, oldest first: those that were parked past their deadline.
    pub async fn due_page(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, JobId)>, Error> {
        self.page(sql!("reconcile/due.sql"), after, limit).await
    }

    /// At most `limit` expired leases after `after`, oldest first.
    pub async fn expired_leases(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, JobId)>, Error> {
        self.page(sql!("reconcile/expired_leases.sql"), after, limit).await
    }

    async fn page(
        &self,
        statement: &'static str,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, JobId)>, Error> {
        let (at, _, job) = cursor::bound(after);
        let rows = sqlx::query_as(statement).bind(at).bind(job).bind(limit).fetch_all(self.db.pool()).await?;
        Ok(KeysetPage::of(rows, limit, JobId::from_text))
    }

    /// Looks at `limit` conversations that stood in `processing` for 900 s, oldest first from `after` on, and marks those
    /// failed that have no live job (DECISIONS §4, "a conversation left in `processing`"). No operation leaves one so, since
    /// each writes the status with its job: it is for rows that a hand, a backup that was restored in part or a defect left,
    /// and nothing else ends those. Most have a job: where much waits they all stand there so long. Locked rows are skipped, and those
    /// that cannot be changed.
    pub async fn sweep_processing(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, ConversationId)>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let (at, user, id) = cursor::bound(after);
        let looked: Vec<LookedAt> = query_as!("reconcile/processing.sql", now, limit, at, user, id)
            .fetch_all(&mut *transaction)
            .await?;
        let next = cursor::next_cursor(looked.len(), limit, looked.last().map(|row| &row.place));
        let mut found = Vec::new();
        for LookedAt { place, .. } in looked.into_iter().filter(|row| row.is_stuck) {
            let key = (place.user_id, ConversationId::new(place.id));
            let mut savepoint = transaction.begin().await?;
            match fail_stuck(&mut savepoint, &key, place.at, now).await {
                Ok(is_failed) => {
                    savepoint.commit().await?;
                    found.extend(is_failed.then_some(key));
                }
                Err(error) if error.is_of_one_row() => {
                    savepoint.rollback().await?;
                    let conversation_id = key.1.as_str();
                    tracing::error!(conversation_id, %error, "a conversation without a job cannot be marked failed");
                }
                Err(error) => return Err(error),
            }
        }
        transaction.commit().await?;
        Ok(KeysetPage { found, next })
    }

    /// At most `limit` deferred conversations after `after` whose last append is 24 h old, oldest first.
    pub async fn abandoned_page(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, ConversationId)>, Error> {
        let (at, user, id) = cursor::bound(after);
        let rows =
            query_as!("reconcile/abandoned.sql", at, user, id, limit).fetch_all(self.db.pool()).await?;
        Ok(KeysetPage::of(rows, limit, ConversationId::new))
    }

    /// Says `Reconcile` to one job (lease watch and reconciler).
    pub async fn reconcile(&self, job: &JobId) -> Result<Answer, Error> {
        // The job table is the queue: what is queued there waits for a claim.
        retry_conflicts!("reconciling a job", self.try_reconcile(job, None, true)).await
    }

    /// The same to a job whose dispatch `asked` was handed to the task queue. `task_waiting`: the queue still has the task; without
    /// it the job is dispatched again, under the next generation.
    pub async fn reconcile_task(
        &self,
        job: &JobId,
        asked: Dispatch,
        task_waiting: bool,
    ) -> Result<Answer, Error> {
        retry_conflicts!("reconciling a job", self.try_reconcile(job, Some(asked), task_waiting)).await
    }

    async fn try_reconcile(
        &self,
        job: &JobId,
        asked: Option<Dispatch>,
        task_waiting: bool,
    ) -> Result<Answer, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(read) = row::read(&mut transaction, job).await? else { return Ok(Answer::Missing) };
        if asked.is_some_and(|asked| asked != read.job.dispatch) {
            // The answer is about a dispatch that was replaced meanwhile.
            return Ok(Answer::Refused(Refusal::NotDue));
        }
        let span = span(&read);
        let repair = async {
            let command = Command::Reconcile { task_waiting };
            let answer = self.decide(&mut transaction, &read, command, None, now).await?;
            self.commit(transaction, answer).await
        };
        let answer = repair.instrument(span.clone()).await;
        match &answer {
            Ok(Answer::Granted { job, .. }) => span.record("became", job.state.status()),
            Ok(_) => span.record("became", "refused"),
            Err(Abort::Conflict) => span.record("became", "lost"),
            Err(_) => span.record("otel.status_code", "ERROR"),
        };
        answer
    }
}

/// A repair: a child of its job's admission, so that what became of a request is one trace; without one, a part of
/// what its caller does.
fn span(stored: &StoredJob) -> Span {
    let job = &stored.job;
    let span = tracing::info_span!(
        target: trace::TARGET,
        "repair",
        otel.status_code = Empty,
        job_id = job.id.as_str(),
        generation = job.generation.0,
        crashes = job.crashes,
        status = job.state.status(),
        became = Empty,
    );
    stored.trace.inspect(|trace| trace.lead(&span));
    span
}

/// Marks a conversation failed that stands in `processing` since `since` without a live job. `false`: it no longer does, or is
/// locked.
async fn fail_stuck(
    connection: &mut PgConnection,
    (user, conversation): &(UserId, ConversationId),
    since: Timestamp,
    now: Timestamp,
) -> Result<bool, Error> {
    let revision: Option<i64> = query_scalar!("reconcile/fail_stuck.sql", now, user, conversation, since)
        .fetch_optional(&mut *connection)
        .await?;
    let Some(revision) = revision else { return Ok(false) };
    announce_failed(connection, (user, conversation, revision), None, now).await?;
    Ok(true)
}

/// A conversation on a sweep's page.
#[derive(sqlx::FromRow)]
struct LookedAt {
    #[sqlx(flatten)]
    place: Cursor,
    /// It has no live job.
    is_stuck: bool,
}
