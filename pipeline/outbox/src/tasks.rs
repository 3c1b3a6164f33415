//! The hand-over of finalizations to a task queue (DESIGN §9). The job's row says what the queue has: `handed_dispatch` is raised once
//! the task queue has acknowledged the named task, so that a dispatch is handed over again until it has.

use std::time::Duration;

use db::{
    Error, array,
    cursor::{self, Cursor, KeysetPage},
    query, query_as,
};
use job::{Dispatch, Generation, JobId, Timestamp};
use records::UserId;
use trace::TraceContext;

use crate::Outbox;

/// For how long a dispatch belongs to the process that took it. Longer than one try takes.
const HOLD: Duration = Duration::from_secs(30);

/// A dispatch of a job that the task queue does not have yet.
#[derive(Clone, Debug, PartialEq)]
pub struct HandOver {
    pub user_id: UserId,
    pub job_id: JobId,
    /// The generation that its delivery must name.
    pub generation: Generation,
    /// Which enqueueing of the job.
    pub dispatch: Dispatch,
    /// How long from now it is not to be delivered; zero for at once.
    pub delay: chrono::Duration,
    /// When it may be delivered.
    pub ready_at: Timestamp,
    /// How often it was tried, this time included.
    pub tries: u32,
    /// The trace of the job's admission.
    pub trace: Option<TraceContext>,
}

/// A job that waits for its task to be delivered, longer than it should.
#[derive(Clone, Debug, PartialEq)]
pub struct DueTask {
    pub user_id: UserId,
    pub job_id: JobId,
    pub generation: Generation,
    pub dispatch: Dispatch,
    /// It was handed over so long ago that it is lost, whatever the queue answers.
    pub is_old: bool,
}

/// The dispatch that waits longest for the task queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Unhanded {
    /// Since when, in seconds; 0 when none waits.
    pub seconds: f64,
    pub tries: i32,
}

impl Outbox {
    /// Takes at most `limit` dispatches that the task queue does not have, for 30 s: then they may be taken again.
    pub async fn claim_hand_overs(&self, limit: u32) -> Result<Vec<HandOver>, Error> {
        let rows: Vec<Row> = query_as!("tasks/claim.sql", i64::from(limit), HOLD.as_secs_f64())
            .fetch_all(self.db.pool())
            .await?;
        Ok(rows.into_iter().map(HandOver::from).collect())
    }

    /// The task queue has these dispatches.
    ///
    /// # Errors
    /// When the database does not answer: the dispatches are handed over once more, under the same names.
    pub async fn handed_over(&self, handed: &[HandOver]) -> Result<(), Error> {
        if handed.is_empty() {
            return Ok(());
        }
        query!(
            "tasks/handed.sql",
            array(handed, |one| one.user_id.as_str()),
            array(handed, |one| one.job_id.as_str()),
            array(handed, |one| one.dispatch.0)
        )
        .execute(self.db.pool())
        .await?;
        Ok(())
    }

    /// The task queue did not take these dispatches; each is tried again after its wait.
    ///
    /// # Errors
    /// When the database does not answer: they are tried again after 30 s.
    pub async fn hand_over_failed(&self, failed: &[(HandOver, Duration)]) -> Result<(), Error> {
        if failed.is_empty() {
            return Ok(());
        }
        query!(
            "tasks/refused.sql",
            array(failed, |(one, _)| one.user_id.as_str()),
            array(failed, |(one, _)| one.job_id.as_str()),
            array(failed, |(one, _)| one.dispatch.0),
            array(failed, |(_, wait)| wait.as_secs_f64())
        )
        .execute(self.db.pool())
        .await?;
        Ok(())
    }

    /// The dispatch that waits longest for the task queue.
    pub async fn oldest_unhanded(&self) -> Result<Unhanded, Error> {
        let found: Option<Unhanded> =
            query_as!("tasks/oldest_unhanded.sql").fetch_optional(self.db.pool()).await?;
        Ok(found.unwrap_or_default())
    }

    /// At most `limit` jobs after `after` whose task should have been delivered by now, oldest first.
    pub async fn due_tasks(&self, after: Option<&Cursor>, limit: i64) -> Result<KeysetPage<DueTask>, Error> {
        let (at, _, job) = cursor::bound(after);
        let rows: Vec<DueRow> = query_as!("tasks/due.sql", at, job, limit).fetch_all(self.db.pool()).await?;
        let next = cursor::next_cursor(rows.len(), limit, rows.last().map(|row| &row.place));
        let due = |row: DueRow| DueTask {
            user_id: row.place.user_id,
            job_id: JobId::from_text(row.place.id),
            generation: Generation(row.generation),
            dispatch: Dispatch(row.dispatch),
            is_old: row.is_old,
        };
        Ok(KeysetPage { found: rows.into_iter().map(due).collect(), next })
    }
}

#[derive(sqlx::FromRow)]
struct DueRow {
    #[sqlx(flatten)]
    place: Cursor,
    generation: i64,
    dispatch: i64,
    is_old: bool,
}

#[derive(sqlx::FromRow)]
struct Row {
    user_id: String,
    job_id: String,
    generation: i64,
    dispatch: i64,
    ready_at: Timestamp,
    hand_tries: i32,
    trace_context: Option<String>,
    now: Timestamp,
}

impl From<Row> for HandOver {
    fn from(row: Row) -> Self {
        Self {
            user_id: UserId::new(row.user_id),
            job_id: JobId::from_text(row.job_id),
            generation: Generation(row.generation),
            dispatch: Dispatch(row.dispatch),
            delay: (row.ready_at - row.now).max(chrono::Duration::zero()),
            ready_at: row.ready_at,
            tries: u32::try_from(row.hand_tries).unwrap_or(u32::MAX),
            trace: row.trace_context.as_deref().and_then(|text| text.parse().ok()),
        }
    }
}
