//! What operators ask and do.

use job::{Command, Job, JobId, Refusal, State, Timestamp};
use records::{ConversationId, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Ledger,
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    row::{self, JobRow, Stored},
};

/// Which jobs to list.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// One of the five statuses.
    pub status: Option<String>,
    /// A failure code.
    pub code: Option<String>,
    /// Whose.
    pub user: Option<UserId>,
    /// Keyset: jobs created before this one, (created_at, job id).
    pub before: Option<(Timestamp, JobId)>,
    /// At most this many.
    pub limit: i64,
}

/// A job as operators see it: never a person's words.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// Whose.
    pub user_id: UserId,
    /// Which conversation.
    pub conversation_id: ConversationId,
    /// Which revision.
    pub revision: i64,
    /// The job.
    pub job: Job,
    /// The row's version.
    pub version: i64,
    /// When it was admitted first.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When somebody looks next.
    pub reconcile_after_at: Option<Timestamp>,
    /// Bells that wait for it: (ring, generation, ring time).
    pub bells: Vec<(i64, i64, Timestamp)>,
    /// Stages whose output is recorded.
    pub checkpoints: Vec<String>,
}

/// Who does what, and why (recorded with the change).
#[derive(Clone, Debug)]
pub struct OperatorAction {
    /// Who.
    pub operator: String,
    /// Why.
    pub reason: String,
}

impl Ledger {
    /// A page of jobs, newest first. An unreadable row is an error with its id.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobView>, Error> {
        let (at, id) = filter.before.clone().unzip();
        let rows: Vec<JobRow> = sqlx::query_as(
            "select * from finalization_jobs where ($1::text is null or status = $1) \
                 and ($2::text is null or coalesce(dead_code, last_code) = $2) and ($3::text is null or user_id = $3) \
                 and ($4::timestamptz is null or (created_at, job_id) < ($4, $5)) \
             order by created_at desc, job_id desc limit $6",
        )
        .bind(&filter.status)
        .bind(&filter.code)
        .bind(filter.user.as_ref().map(UserId::as_str))
        .bind(at)
        .bind(id.as_ref().map(JobId::as_str))
        .bind(filter.limit)
        .fetch_all(&self.pool)
        .await
        .doing("listing jobs")?;
        rows.into_iter().map(|row| Stored::try_from(row).map(|stored| self.job_view(stored))).collect()
    }

    /// One job, with the bells that wait for it and the stages whose output is recorded.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn job(&self, job: &JobId) -> Result<Option<JobView>, Error> {
        let mut connection = self.pool.acquire().await.doing("reading a job")?;
        let Some(stored) = row::read(&mut connection, job).await? else { return Ok(None) };
        let mut view = self.job_view(stored);
        view.bells = sqlx::query_as(
            "select ring, dispatch_generation, ring_at from finalization_bells where job_id = $1 order by ring",
        )
        .bind(job.as_str())
        .fetch_all(&mut *connection)
        .await
        .doing("reading a job's bells")?;
        view.checkpoints = sqlx::query_scalar(
            "select stage from stage_checkpoints where user_id = $1 and job_id = $2 order by created_at, stage",
        )
        .bind(view.user_id.as_str())
        .bind(job.as_str())
        .fetch_all(&mut *connection)
        .await
        .doing("reading a job's checkpoints")?;
        Ok(Some(view))
    }

    /// Replays a dead letter in one transaction: queued, generation + 1, conversation reopened, action recorded, bell.
    /// `None`: no such job.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn replay(
        &self,
        job: &JobId,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        until_stored!(self, "replaying a job", |bell| self.try_operate(job, Operation::Replay, action, bell))
    }

    /// Marks a dead letter as settled. `None`: no such job.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn discard(
        &self,
        job: &JobId,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        until_stored!(self, "settling a dead letter", |bell| self.try_operate(
            job,
            Operation::Discard,
            action,
            bell
        ))
    }

    async fn try_operate(
        &self,
        job: &JobId,
        operation: Operation,
        action: &OperatorAction,
        bell: Bell,
    ) -> Result<Option<Result<Job, Refusal>>, Stumble> {
        let (mut transaction, now) = self.begin("operating on a job").await?;
        let Some(stored) = row::read(&mut transaction, job).await? else { return Ok(None) };
        let command = match operation {
            Operation::Discard => Command::Discard,
            Operation::Replay => replay_command(&mut transaction, &stored).await?,
        };
        match self.decide_and_write(&mut transaction, &stored, command, now, bell).await? {
            Err(refusal) => Ok(Some(Err(refusal))),
            Ok(written) => {
                record(&mut transaction, &stored, &written.stored, operation, action, now)
                    .await
                    .doing("recording an operator's action")?;
                transaction.commit().await.doing("operating on a job")?;
                self.wake(&written.stored.job, &written.effects, written.told);
                Ok(Some(Ok(written.stored.job)))
            }
        }
    }

    fn job_view(&self, stored: Stored) -> JobView {
        JobView {
            reconcile_after_at: stored.job.reconcile_after_at(&self.policy),
            user_id: stored.user_id,
            conversation_id: stored.conversation_id,
            revision: stored.revision,
            version: stored.version,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            bells: Vec::new(),
            checkpoints: Vec::new(),
            job: stored.job,
        }
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Replay,
    Discard,
}

/// The facts of a replay, read under the person's row, so that marking the person and replaying exclude each other.
async fn replay_command(connection: &mut PgConnection, stored: &Stored) -> Result<Command, Error> {
    let marked: Option<bool> =
        sqlx::query_scalar("select requires_byok from users where user_id = $1 for share")
            .bind(stored.user_id.as_str())
            .fetch_optional(&mut *connection)
            .await
            .doing("reading a person's mark")?;
    // Held against being deleted meanwhile: a job that is queued again must have a conversation.
    let there: Option<bool> = sqlx::query_scalar(
        "select true from conversations where user_id = $1 and conversation_id = $2 for key share",
    )
    .bind(stored.user_id.as_str())
    .bind(stored.conversation_id.as_str())
    .fetch_optional(&mut *connection)
    .await
    .doing("reading what a replay depends on")?;
    let superseded: bool = sqlx::query_scalar(
        "select exists (select from finalization_admissions where user_id = $1 and conversation_id = $2 \
                 and revision > $3)",
    )
    .bind(stored.user_id.as_str())
    .bind(stored.conversation_id.as_str())
    .bind(stored.revision)
    .fetch_one(connection)
    .await
    .doing("reading what a replay depends on")?;
    Ok(Command::Replay {
        superseded,
        conversation_gone: there.is_none(),
        requires_keys: marked.unwrap_or(false),
    })
}

async fn record(
    connection: &mut PgConnection,
    before: &Stored,
    after: &Stored,
    operation: Operation,
    action: &OperatorAction,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let verb = match operation {
        Operation::Replay => "replay",
        Operation::Discard => "discard",
    };
    let code = match before.job.state {
        State::DeadLetter { code } => Some(code.as_str()),
        _ => None,
    };
    // One action per version of the job: the id is derived, so a repeated attempt writes the same row.
    let id = Uuid::new_v5(&ACTIONS, format!("{}\n{}\n{verb}", before.job.id, before.version).as_bytes());
    sqlx::query(
        "insert into operator_actions (user_id, action_id, job_id, action, operator, reason, from_status, from_code, \
             from_generation, to_generation, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(before.user_id.as_str())
    .bind(id.to_string())
    .bind(before.job.id.as_str())
    .bind(verb)
    .bind(&action.operator)
    .bind(&action.reason)
    .bind(before.job.state.status())
    .bind(code)
    .bind(before.job.generation.0)
    .bind(after.job.generation.0)
    .bind(now)
    .execute(connection)
    .await
    .map(drop)
}

/// The namespace of operator actions; part of the durable contract.
const ACTIONS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f61_6374_696f_6e73_0000);
