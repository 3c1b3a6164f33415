//! What operators ask of one job, and do to it.

use std::ops::Deref;

use db::{Error, query, query_scalar};
use job::{Command, FailureCode, Job, JobId, Timestamp};
use records::UserId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Ledger, StoredJob,
    admit::{lock_conversation, owner},
    effects::{Abort, Answer},
    history::Verb,
    retry_conflicts, row,
};

/// A job as operators see it: never a person's words.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    pub stored: StoredJob,
    /// When it is checked next.
    pub reconcile_after_at: Option<Timestamp>,
    /// Stages whose output is recorded.
    pub checkpoints: Vec<String>,
    /// What settled a dead letter, in lists alone.
    pub settled_by: Option<Verb>,
}

impl Deref for JobView {
    type Target = StoredJob;

    fn deref(&self) -> &StoredJob {
        &self.stored
    }
}

/// Who does what, and why (recorded with the change).
#[derive(Clone, Debug)]
pub struct OperatorAction {
    pub operator: String,
    pub reason: String,
    /// The order for many jobs that it belongs to: the list of actions shows such an order once, and what is part of it with
    /// its job alone.
    pub part_of: Option<String>,
}

impl OperatorAction {
    /// An action that is part of no other.
    pub fn new(operator: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { operator: operator.into(), reason: reason.into(), part_of: None }
    }

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
        query!(
            "operator/note_order.sql",
            user,
            Uuid::new_v5(&ACTIONS, name.as_bytes()).to_string(),
            subject,
            verb,
            &self.operator,
            &self.reason,
            now
        )
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
        let checkpoints = query_scalar!("checkpoints/stages.sql", &stored.user_id, job.as_str())
            .fetch_all(&mut *connection)
            .await?;
        Ok(Some(JobView { checkpoints, ..self.job_view(stored) }))
    }

    /// What operators see of a stored job, without what lies in other tables.
    pub fn job_view(&self, stored: StoredJob) -> JobView {
        let reconcile_after_at = stored.job.reconcile_after_at(&self.policy);
        JobView { stored, reconcile_after_at, checkpoints: Vec::new(), settled_by: None }
    }

    /// An operator's operation on one job, in one transaction with its record.
    pub async fn operate(
        &self,
        job: &JobId,
        operation: Operation,
        action: &OperatorAction,
    ) -> Result<Answer, Error> {
        retry_conflicts!("operating on a job", async {
            let (mut transaction, now) = self.db.begin().await?;
            let Some(read) = row::read(&mut transaction, job).await? else { return Ok(Answer::Missing) };
            let answer = self.operate_on(&mut transaction, &read, operation, action, now).await?;
            self.commit(transaction, answer).await
        })
        .await
    }

    /// An operator's operation on a job that was read, with its record, inside the caller's transaction.
    pub async fn operate_on(
        &self,
        connection: &mut PgConnection,
        read: &StoredJob,
        operation: Operation,
        action: &OperatorAction,
        now: Timestamp,
    ) -> Result<Answer, Abort> {
        let command = match operation {
            Operation::Discard => Command::Discard,
            Operation::RunNow => Command::RunNow,
            Operation::Cancel => Command::Cancel,
            Operation::Replay { .. } => replay_command(connection, read).await?,
        };
        let answer = self.decide(connection, read, command, None, now).await?;
        let Answer::Granted { job, .. } = &answer else { return Ok(answer) };
        if let Operation::Replay { from_scratch: true } = operation {
            query!("checkpoints/delete.sql", &read.user_id, job.id.as_str())
                .execute(&mut *connection)
                .await?;
        }
        record(connection, (read, job), operation, action, now).await?;
        Ok(answer)
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
async fn replay_command(connection: &mut PgConnection, stored: &StoredJob) -> Result<Command, Error> {
    let owner = owner(connection, &stored.user_id).await?;
    // Held until the replay is stored: an admission of the next revision waits for it, and then finds a live job. Before the
    // job, other than everywhere else: DESIGN §4 says why that may be.
    let is_there = lock_conversation(connection, &stored.user_id, &stored.conversation_id).await?;
    let superseded = query_scalar!(
        "operator/is_superseded.sql",
        &stored.user_id,
        &stored.conversation_id,
        stored.revision
    )
    .fetch_one(connection)
    .await?;
    // What belongs to a user who is being deleted is as good as gone.
    let conversation_gone = !is_there || owner.is_none();
    let requires_keys = owner.is_some_and(|owner| owner.requires_byok);
    Ok(Command::Replay { superseded, conversation_gone, requires_keys })
}

async fn record(
    connection: &mut PgConnection,
    (before, after): (&StoredJob, &Job),
    operation: Operation,
    action: &OperatorAction,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let verb = match operation {
        Operation::Replay { .. } => "replay",
        Operation::Discard => "discard",
        Operation::RunNow => "run_now",
        Operation::Cancel => "cancel",
    };
    // Of a live job: the failure after which it waited.
    let code = before.job.failure_code().map(FailureCode::as_str);
    // One action per version of the job: the id is derived, so a repeated attempt writes the same row.
    let id = Uuid::new_v5(&ACTIONS, format!("{}\n{}\n{verb}", before.job.id, before.version).as_bytes());
    query!(
        "operator/note_action.sql",
        &before.user_id,
        id.to_string(),
        before.job.id.as_str(),
        verb,
        &action.operator,
        &action.reason,
        before.job.state.status(),
        code,
        before.job.generation.0,
        after.generation.0,
        now,
        &action.part_of
    )
    .execute(connection)
    .await
    .map(drop)
}

/// The namespace of operator actions; part of the durable contract.
pub const ACTIONS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f61_6374_696f_6e73_0000);
