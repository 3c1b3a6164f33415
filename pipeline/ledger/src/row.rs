//! A job's row: read into `job::Job`, stored by compare-and-set on its version.

use std::collections::HashMap;

use db::{Error, query, query_as, query_scalar};
use job::{
    Dispatch, Epoch, FailureCode, Generation, Job, JobId, Lease, Origin, Outcome, Policy, Queue, State,
    Timestamp, WorkerId,
};
use records::{ConversationId, UserId};
use serde::Serialize;
use sqlx::{PgConnection, types::Json};
use trace::TraceContext;

use crate::history::{self, Event};

/// A job with where it belongs and the version it was read at.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJob {
    pub user_id: UserId,
    pub conversation_id: ConversationId,
    pub revision: i64,
    /// Raised by every store: what a compare-and-set compares.
    pub version: i64,
    /// When it was admitted first.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub job: Job,
    /// Where the trace of its admission goes on; written once, with the row.
    pub trace: Option<TraceContext>,
    /// The entry of history that goes with the next store; none is read back here.
    pub event: Option<Event>,
}

impl StoredJob {
    /// The lease of the newest claim.
    pub fn lease_token(&self) -> LeaseToken {
        LeaseToken { user_id: self.user_id.clone(), job_id: self.job.id.clone(), epoch: self.job.epoch }
    }
}

/// A lease that this process holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseToken {
    pub user_id: UserId,
    pub job_id: JobId,
    pub epoch: Epoch,
}

/// The row as the table holds it; as JSON, as the statements that write it take it (`jsonb_populate_record`).
#[derive(Clone, Debug, sqlx::FromRow, Serialize)]
pub struct JobRow {
    pub(crate) user_id: String,
    pub(crate) job_id: String,
    conversation_id: String,
    revision: i64,
    version: i64,
    origin: String,
    queue: String,
    status: String,
    ready_at: Option<Timestamp>,
    epoch: i64,
    lease_worker: Option<String>,
    lease_claimed_at: Option<Timestamp>,
    lease_expires_at: Option<Timestamp>,
    lease_ready_at: Option<Timestamp>,
    outcome: Option<String>,
    dead_code: Option<String>,
    generation: i64,
    dispatch: i64,
    attempts: i32,
    crashes: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    crashed_epoch: Option<i64>,
    runs: i32,
    requires_keys: bool,
    force_process: bool,
    admitted_at: Timestamp,
    first_blocked_at: Option<Timestamp>,
    last_code: Option<String>,
    settled_at: Option<Timestamp>,
    next_check_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hurried: Option<bool>,
    reconcile_after_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    finished_at: Option<Timestamp>,
    /// Left out when it is null: rows travel as they did before there were traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_context: Option<String>,
    /// What a store adds to the row's history. Nothing that runs jobs reads it.
    #[sqlx(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Event>,
}

/// A locked job, with the database's clock.
#[derive(sqlx::FromRow)]
pub(crate) struct LockedRow {
    pub(crate) now: Timestamp,
    #[sqlx(flatten)]
    pub(crate) row: JobRow,
}

impl TryFrom<JobRow> for StoredJob {
    type Error = Error;

    fn try_from(row: JobRow) -> Result<Self, Error> {
        let wrong =
            |column| Error::ImpossibleRow { table: "finalization_jobs", id: row.job_id.clone(), column };
        let count = |number: i32, column| u32::try_from(number).map_err(|_| wrong(column));
        let code = |name: &Option<String>, column| {
            name.as_deref().map(|name| FailureCode::from_name(name).ok_or_else(|| wrong(column))).transpose()
        };
        let job = Job {
            id: JobId::from_text(row.job_id.clone()),
            origin: Origin::from_name(&row.origin).ok_or_else(|| wrong("origin"))?,
            queue: Queue::from_name(&row.queue).ok_or_else(|| wrong("queue"))?,
            state: state(&row).ok_or_else(|| wrong("status"))?,
            epoch: Epoch(row.epoch),
            generation: Generation(row.generation),
            dispatch: Dispatch(row.dispatch),
            attempts: count(row.attempts, "attempts")?,
            crashes: count(row.crashes, "crashes")?,
            crashed_epoch: row.crashed_epoch.map(Epoch),
            runs: count(row.runs, "runs")?,
            requires_keys: row.requires_keys,
            force_process: row.force_process,
            admitted_at: row.admitted_at,
            first_blocked_at: row.first_blocked_at,
            last_code: code(&row.last_code, "last_code")?,
            settled_at: row.settled_at,
            next_check_at: row.next_check_at,
            hurried: row.hurried.unwrap_or(false),
        };
        Ok(Self {
            user_id: UserId::new(row.user_id),
            conversation_id: ConversationId::new(row.conversation_id),
            revision: row.revision,
            version: row.version,
            created_at: row.created_at,
            updated_at: row.updated_at,
            job,
            // One that cannot be read is no reason to leave a job alone.
            trace: row.trace_context.as_deref().and_then(|text| text.parse().ok()),
            event: None,
        })
    }
}

/// The state that the columns express, or `None` where they express none.
fn state(row: &JobRow) -> Option<State> {
    Some(match row.status.as_str() {
        "queued" => State::Queued { ready_at: row.ready_at? },
        "leased" => State::Leased(Lease {
            epoch: Epoch(row.epoch),
            worker: WorkerId(row.lease_worker.clone()?),
            claimed_at: row.lease_claimed_at?,
            expires_at: row.lease_expires_at?,
            ready_at: row.lease_ready_at?,
        }),
        "blocked_byok" => State::BlockedByok,
        "completed" => State::Completed { outcome: Outcome::from_name(row.outcome.as_deref()?)? },
        "dead_letter" => State::DeadLetter { code: FailureCode::from_name(row.dead_code.as_deref()?)? },
        _ => return None,
    })
}

/// The row of a job, to be stored at `now` over the version it was read at.
fn row(stored: &StoredJob, now: Timestamp, policy: &Policy) -> JobRow {
    let job = &stored.job;
    let lease = job.state.lease();
    JobRow {
        user_id: stored.user_id.as_str().to_owned(),
        job_id: job.id.as_str().to_owned(),
        conversation_id: stored.conversation_id.as_str().to_owned(),
        revision: stored.revision,
        version: stored.version,
        origin: job.origin.as_str().to_owned(),
        queue: job.queue.as_str().to_owned(),
        status: job.state.status().to_owned(),
        ready_at: job.state.ready_at(),
        epoch: job.epoch.0,
        lease_worker: lease.map(|lease| lease.worker.0.clone()),
        lease_claimed_at: lease.map(|lease| lease.claimed_at),
        lease_expires_at: lease.map(|lease| lease.expires_at),
        lease_ready_at: lease.map(|lease| lease.ready_at),
        outcome: job.state.outcome().map(|outcome| outcome.as_str().to_owned()),
        dead_code: job.state.dead_code().map(|code| code.as_str().to_owned()),
        generation: job.generation.0,
        dispatch: job.dispatch.0,
        attempts: job.attempts.cast_signed(),
        crashes: job.crashes.cast_signed(),
        crashed_epoch: job.crashed_epoch.map(|epoch| epoch.0),
        runs: job.runs.cast_signed(),
        requires_keys: job.requires_keys,
        force_process: job.force_process,
        admitted_at: job.admitted_at,
        first_blocked_at: job.first_blocked_at,
        last_code: job.last_code.map(|code| code.as_str().to_owned()),
        settled_at: job.settled_at,
        next_check_at: job.next_check_at,
        hurried: job.hurried.then_some(true),
        reconcile_after_at: job.reconcile_after_at(policy),
        created_at: stored.created_at,
        updated_at: now,
        finished_at: job.state.is_terminal().then_some(now),
        trace_context: stored.trace.map(|trace| trace.to_string()),
        history: stored.event.iter().cloned().collect(),
    }
}

/// The non-terminal job of a conversation; there is one at most.
pub(crate) async fn live_job(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<StoredJob>, Error> {
    let row: Option<JobRow> =
        query_as!("jobs/live_of_conversation.sql", user, conversation).fetch_optional(connection).await?;
    row.map(StoredJob::try_from).transpose()
}

/// The dead letters of conversations that wait for an operator, locked. One that cannot be read is left out: it keeps no user from
/// processing a conversation again, or from deleting it.
pub(crate) async fn unsettled(
    connection: &mut PgConnection,
    users: &[&str],
    conversations: &[&str],
) -> Result<Vec<StoredJob>, Error> {
    let rows: Vec<JobRow> =
        query_as!("jobs/unsettled_of_conversations.sql", users, conversations).fetch_all(connection).await?;
    Ok(rows.into_iter().filter_map(|row| StoredJob::try_from(row).ok()).collect())
}

/// Reads a job by its id alone, as a delivery names it; takes no lock, the compare-and-set protects the store.
pub async fn read(connection: &mut PgConnection, job: &JobId) -> Result<Option<StoredJob>, Error> {
    let row: Option<JobRow> = query_as!("jobs/get.sql", job.as_str()).fetch_optional(connection).await?;
    row.map(StoredJob::try_from).transpose()
}

/// Reads jobs by id and locks them, in key order.
pub(crate) async fn read_locked(
    connection: &mut PgConnection,
    jobs: &[&str],
) -> Result<HashMap<String, StoredJob>, Error> {
    let rows: Vec<JobRow> = query_as!("jobs/lock.sql", jobs).fetch_all(connection).await?;
    by_id(rows)
}

/// Rows that were read, by the ids of their jobs.
pub(crate) fn by_id(rows: impl IntoIterator<Item = JobRow>) -> Result<HashMap<String, StoredJob>, Error> {
    rows.into_iter().map(|row| Ok((row.job_id.clone(), StoredJob::try_from(row)?))).collect()
}

/// Writes jobs that were just admitted, with their admission records.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    jobs: &[StoredJob],
    now: Timestamp,
    policy: &Policy,
) -> Result<(), sqlx::Error> {
    let rows = rows(jobs, now, policy);
    query!("jobs/insert.sql", &rows).execute(&mut *connection).await?;
    query!("jobs/insert_admissions.sql", &rows).execute(connection).await.map(drop)
}

/// Stores jobs over the versions at which they were read, in one statement. Returns the ids of those that were stored: a
/// missing one was changed by another operation in between.
pub(crate) async fn store(
    connection: &mut PgConnection,
    jobs: &[&StoredJob],
    now: Timestamp,
    policy: &Policy,
) -> Result<Vec<String>, sqlx::Error> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    query_scalar!("jobs/store.sql", rows(jobs.iter().copied(), now, policy), history::KEPT)
        .fetch_all(connection)
        .await
}

/// Jobs as the statements that write them take them.
fn rows<'a>(
    jobs: impl IntoIterator<Item = &'a StoredJob>,
    now: Timestamp,
    policy: &Policy,
) -> Vec<Json<JobRow>> {
    jobs.into_iter().map(|stored| Json(row(stored, now, policy))).collect()
}
