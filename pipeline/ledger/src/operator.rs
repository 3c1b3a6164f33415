//! What operators ask of one job, and do to it.

use db::Error;
use job::{Command, FailureCode, Job, JobId, Refusal, State, Timestamp};
use records::{ConversationId, UserId};
use sqlx::PgConnection;
use trace::TraceContext;
use uuid::Uuid;

use crate::{
    Ledger,
    admit::owner,
    effects::{Abort, Written},
    history::Verb,
    lock::lock_conversation,
    retry_conflicts,
    row::{self, Stored},
};

/// A job as operators see it: never a person's words.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    pub user_id: UserId,
    pub conversation_id: ConversationId,
    pub revision: i64,
    pub job: Job,
    pub version: i64,
    /// When it was admitted first.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When it is checked next.
    pub reconcile_after_at: Option<Timestamp>,
    /// Stages whose output is recorded.
    pub checkpoints: Vec<String>,
    /// Where the trace of its admission goes on, if that was traced.
    pub trace: Option<TraceContext>,
    /// What settled a dead letter, in lists alone.
    pub settled_by: Option<Verb>,
}

/// Who does what, and why (recorded with the change).
#[derive(Clone, Debug)]
pub struct OperatorAction {
    pub operator: String,
    pub reason: String,
}

impl OperatorAction {
    /// Records an action that is not a transition of one job, in the transaction that does it: on whose data, `None` for the
    /// service's; `subject` is which queue, operation, endpoint, delivery or app.
    pub async fn record(
        &self,
        connection: &mut PgConnection,
        verb: &'static str,
        user: Option<&UserId>,
        subject: &str,
        now: Timestamp,
    ) -> Result<(), sqlx::Error> {
        let user = user.map_or("", UserId::as_str);
        let name = format!("{user}\n{verb}\n{subject}\n{}", now.timestamp_micros());
        sqlx::query(include_str!("../sql/operator/note_order.sql"))
            .bind(user)
            .bind(Uuid::new_v5(&ACTIONS, name.as_bytes()).to_string())
            .bind(subject)
            .bind(verb)
            .bind(&self.operator)
            .bind(&self.reason)
            .bind(now)
            .execute(connection)
            .await
            .map(drop)
    }
}

impl Ledger {
    /// One job, with the stages whose output is recorded.
    pub async fn job(&self, job: &JobId) -> Result<Option<JobView>, Error> {
        let mut connection = self.db.pool().acquire().await?;
        let Some(stored) = row::read(&mut connection, job).await? else { return Ok(None) };
        let mut view = self.job_view(stored);
        view.checkpoints = sqlx::query_scalar(include_str!("../sql/checkpoints/stages.sql"))
            .bind(view.user_id.as_str())
            .bind(job.as_str())
            .fetch_all(&mut *connection)
            .await?;
        Ok(Some(view))
    }

    /// What operators see of a stored job, without what lies in other tables.
    pub fn job_view(&self, stored: Stored) -> JobView {
        let job: Job = stored.job;
        JobView {
            reconcile_after_at: job.reconcile_after_at(&self.policy),
            user_id: stored.user_id,
            conversation_id: stored.conversation_id,
            revision: stored.revision,
            version: stored.version,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            checkpoints: Vec::new(),
            trace: stored.trace,
            settled_by: None,
            job,
        }
    }

    /// An operator's operation on one job, in one transaction with its record; `part_of` names the order for many jobs that it
    /// is part of. `None`: no such job.
    pub async fn operate(
        &self,
        job: &JobId,
        operation: Operation,
        action: &OperatorAction,
        part_of: Option<&str>,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        retry_conflicts!("operating on a job", self.try_operate(job, operation, action, part_of))
    }

    async fn try_operate(
        &self,
        job: &JobId,
        operation: Operation,
        action: &OperatorAction,
        part_of: Option<&str>,
    ) -> Result<Option<Result<Job, Refusal>>, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(stored) = row::read(&mut transaction, job).await? else { return Ok(None) };
        match self.operate_on(&mut transaction, &stored, operation, (action, part_of), now).await? {
            Err(refusal) => Ok(Some(Err(refusal))),
            Ok(written) => {
                transaction.commit().await?;
                self.wake(&written);
                Ok(Some(Ok(written.stored.job)))
            }
        }
    }

    /// An operator's transition on a job that was read, with its record, inside the caller's transaction. The list of actions shows
    /// an order for many jobs once, and what is part of it with its job alone.
    pub async fn operate_on(
        &self,
        connection: &mut PgConnection,
        stored: &Stored,
        operation: Operation,
        (action, part_of): (&OperatorAction, Option<&str>),
        now: Timestamp,
    ) -> Result<Result<Written, Refusal>, Abort> {
        let command = match operation {
            Operation::Discard => Command::Discard,
            Operation::RunNow => Command::RunNow,
            Operation::Cancel => Command::Cancel,
            Operation::Replay { .. } => replay_command(connection, stored).await?,
        };
        let written = match self.decide_and_write(connection, stored, command, None, now).await? {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(written) => written,
        };
        if let Operation::Replay { from_scratch: true } = operation {
            sqlx::query(include_str!("../sql/checkpoints/delete.sql"))
                .bind(stored.user_id.as_str())
                .bind(stored.job.id.as_str())
                .execute(&mut *connection)
                .await?;
        }
        record(connection, (stored, &written.stored), operation, (action, part_of), now).await?;
        Ok(Ok(written))
    }
}

/// What an operator does to one job.
#[derive(Clone, Copy)]
pub enum Operation {
    /// Queues a dead letter again, under the next generation, and reopens its conversation.
    Replay {
        /// What stages recorded is dropped in the same transaction: all of them are paid for again.
        from_scratch: bool,
    },
    /// Marks a dead letter as settled.
    Discard,
    /// Ends the wait of a job that backs off or waits for a circuit: it is claimable at once, under the next generation, and
    /// its run asks the model server even where its circuit is open.
    RunNow,
    /// Ends a live job as a settled dead letter, `cancelled_by_operator`, with its conversation failed as by any dead letter.
    /// A run loses its lease, and no write of it lands.
    Cancel,
}

/// The facts of a replay, read under the person's row, so that marking the person and replaying exclude each other.
async fn replay_command(connection: &mut PgConnection, stored: &Stored) -> Result<Command, Error> {
    let owner = owner(connection, &stored.user_id).await?;
    // Held until the replay is stored: an admission of the next revision waits for it, and then finds a live job. Before the
    // job, other than everywhere else: DESIGN §4 says why that may be.
    let is_there = lock_conversation(connection, &stored.user_id, &stored.conversation_id).await?;
    let superseded = sqlx::query_scalar(include_str!("../sql/operator/is_superseded.sql"))
        .bind(stored.user_id.as_str())
        .bind(stored.conversation_id.as_str())
        .bind(stored.revision)
        .fetch_one(connection)
        .await?;
    // What belongs to a user who is being deleted is as good as gone.
    let conversation_gone = !is_there || owner.is_none();
    let requires_keys = owner.is_some_and(|owner| owner.requires_byok);
    Ok(Command::Replay { superseded, conversation_gone, requires_keys })
}

async fn record(
    connection: &mut PgConnection,
    (before, after): (&Stored, &Stored),
    operation: Operation,
    (action, part_of): (&OperatorAction, Option<&str>),
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let verb = match operation {
        Operation::Replay { .. } => "replay",
        Operation::Discard => "discard",
        Operation::RunNow => "run_now",
        Operation::Cancel => "cancel",
    };
    // Of a live job: the failure after which it waited.
    let code = match before.job.state {
        State::DeadLetter { code } => Some(code.as_str()),
        _ => before.job.last_code.map(FailureCode::as_str),
    };
    // One action per version of the job: the id is derived, so a repeated attempt writes the same row.
    let id = Uuid::new_v5(&ACTIONS, format!("{}\n{}\n{verb}", before.job.id, before.version).as_bytes());
    sqlx::query(include_str!("../sql/operator/note_action.sql"))
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
        .bind(part_of)
        .execute(connection)
        .await
        .map(drop)
}

/// The namespace of operator actions; part of the durable contract.
pub const ACTIONS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f61_6374_696f_6e73_0000);
