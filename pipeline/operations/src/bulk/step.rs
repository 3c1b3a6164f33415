//! Working an operation off: take it under a lease, and replay one item per transaction under the fence of its epoch.

use std::time::Duration;

use chrono::TimeDelta;
use db::Error;
use job::{Job, JobId, Refusal, Timestamp};
use ledger::{Answer, Operation, OperatorAction, effects::Abort, retry_conflicts, row};
use sqlx::PgConnection;

use crate::Operations;

/// The right to work on an operation, for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTurn {
    pub operation_id: String,
    /// The claim: a newer one refuses this one's steps.
    pub epoch: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    Replayed,
    /// An item was refused, and why is recorded.
    Refused,
    /// Nothing may be replayed yet: the rate, or the jobs that are unfinished, say when to ask again.
    Wait(Duration),
    /// All items are done and all replayed jobs have come to rest.
    Done,
    /// The operation was paused or cancelled, or another process has it.
    Lost,
}

/// How long a turn lasts without a step.
const TURN: &str = "15 seconds";
/// How soon an executor looks again whether replayed jobs have come to rest.
const LOOK: Duration = Duration::from_millis(500);

#[derive(sqlx::FromRow)]
struct OperationRow {
    operator: String,
    reason: String,
    from_scratch: bool,
    per_minute: i32,
    in_flight: i32,
    next_at: Timestamp,
}

impl OperationRow {
    fn pace(&self) -> TimeDelta {
        TimeDelta::minutes(1) / self.per_minute.max(1)
    }
}

#[derive(sqlx::FromRow)]
struct ItemRow {
    position: i32,
    job_id: String,
    generation: i64,
}

/// The job of a replayed item, or why it was refused.
type Replayed = Result<Job, &'static str>;

impl Operations {
    /// Takes the oldest running operation without a worker, under the next epoch.
    pub async fn take_replay(&self, executor: &str) -> Result<Option<ReplayTurn>, Error> {
        let taken: Option<(String, i64)> = sqlx::query_as(include_str!("../../sql/replays/take.sql"))
            .bind(executor)
            .bind(TURN)
            .fetch_optional(self.db.pool())
            .await?;
        Ok(taken.map(|(operation_id, epoch)| ReplayTurn { operation_id, epoch }))
    }

    /// Gives a turn back, so that another process goes on at once.
    pub async fn leave_replay(&self, turn: &ReplayTurn) -> Result<(), Error> {
        sqlx::query(include_str!("../../sql/replays/leave.sql"))
            .bind(&turn.operation_id)
            .bind(turn.epoch)
            .execute(self.db.pool())
            .await?;
        Ok(())
    }

    /// One step: notes which replayed jobs have come to rest, and replays the next item if the caps allow it. The
    /// item is marked in the transaction that replays its job. One whose job cannot be read or stored is refused
    /// with `error`, and blocks no other.
    ///
    /// # Errors
    /// When the database does not answer: the same step is asked for again.
    pub async fn step_replay(&self, turn: &ReplayTurn) -> Result<Stepped, Error> {
        match retry_conflicts!("replaying an item", self.try_step(turn, false)).await {
            Err(Error::Refused { .. } | Error::ImpossibleRow { .. }) => {
                retry_conflicts!("refusing an item", self.try_step(turn, true)).await
            }
            other => other,
        }
    }

    /// `give_up`: the item's job broke the machine in the try before; it is refused unseen.
    async fn try_step(&self, turn: &ReplayTurn, give_up: bool) -> Result<Stepped, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        // Locked, while it runs under this turn's epoch; its lease is renewed.
        let operation: Option<OperationRow> = sqlx::query_as(include_str!("../../sql/replays/hold.sql"))
            .bind(&turn.operation_id)
            .bind(turn.epoch)
            .bind(now)
            .bind(TURN)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(operation) = operation else { return Ok(Stepped::Lost) };
        let unfinished = come_to_rest(&mut transaction, &turn.operation_id, now, false).await?;
        let next: Option<ItemRow> = sqlx::query_as(include_str!("../../sql/replays/next_item.sql"))
            .bind(&turn.operation_id)
            .fetch_optional(&mut *transaction)
            .await?;
        let stepped = match next {
            None if unfinished == 0 => {
                sqlx::query(include_str!("../../sql/replays/finish.sql"))
                    .bind(&turn.operation_id)
                    .bind(now)
                    .execute(&mut *transaction)
                    .await?;
                Stepped::Done
            }
            None => Stepped::Wait(LOOK),
            Some(_) if unfinished >= i64::from(operation.in_flight) => Stepped::Wait(LOOK),
            Some(_) if now < operation.next_at => {
                Stepped::Wait((operation.next_at - now).to_std().unwrap_or(LOOK).min(LOOK))
            }
            Some(item) => {
                let replayed = match give_up {
                    true => Err("error"),
                    false => self.replay_item(&mut transaction, turn, &operation, &item, now).await?,
                };
                // A second's worth of items may be made up for after a wait.
                let on_time = operation.next_at.max(now - TimeDelta::seconds(1)) + operation.pace();
                let (status, result, count, next_at) = match &replayed {
                    Ok(_) => ("replayed", None, 1, on_time),
                    Err(why) => ("refused", Some(*why), 0, operation.next_at),
                };
                sqlx::query(include_str!("../../sql/replays/note_item.sql"))
                    .bind(&turn.operation_id)
                    .bind(item.position)
                    .bind(status)
                    .bind(result)
                    .bind(now)
                    .bind(count)
                    .bind(next_at)
                    .execute(&mut *transaction)
                    .await?;
                transaction.commit().await?;
                return Ok(match replayed {
                    Err(_) => Stepped::Refused,
                    Ok(job) => {
                        self.ledger.wake(&job);
                        Stepped::Replayed
                    }
                });
            }
        };
        transaction.commit().await?;
        Ok(stepped)
    }

    /// Notes which replayed jobs have come to rest, whatever the status of their operations: jobs go on when those are
    /// paused or cancelled, and no step is made then. With `parked` also where all that is left waits for its users'
    /// keys, which may take days. A locked operation is skipped until the next time.
    pub async fn follow_replays(&self, parked: bool) -> Result<(), Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let followed: Vec<String> = sqlx::query_scalar(include_str!("../../sql/replays/followed.sql"))
            .bind(parked)
            .fetch_all(&mut *transaction)
            .await?;
        for operation in &followed {
            come_to_rest(&mut transaction, operation, now, parked).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn replay_item(
        &self,
        connection: &mut PgConnection,
        turn: &ReplayTurn,
        operation: &OperationRow,
        item: &ItemRow,
        now: Timestamp,
    ) -> Result<Replayed, Abort> {
        let id = JobId::from_text(item.job_id.clone());
        let Some(read) = row::read(connection, &id).await? else { return Ok(Err("missing")) };
        if read.job.generation.0 != item.generation {
            return Ok(Err("changed"));
        }
        let replay = Operation::Replay { from_scratch: operation.from_scratch };
        let action = OperatorAction {
            part_of: Some(turn.operation_id.clone()),
            ..OperatorAction::new(&operation.operator, &operation.reason)
        };
        Ok(match self.ledger.operate_on(connection, &read, replay, &action, now).await? {
            Answer::Granted { job, .. } => Ok(job),
            Answer::Refused(refusal) => Err(word(refusal)),
            Answer::Missing => Err("missing"),
        })
    }
}

/// Notes which replayed jobs of an operation, whose row the caller holds, are at rest, or parked until their users bring keys,
/// and answers how many are not; with `parked`, those that were given keys since are followed to their rest, too. A job that was
/// pruned had completed.
async fn come_to_rest(
    connection: &mut PgConnection,
    operation: &str,
    now: Timestamp,
    parked: bool,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(include_str!("../../sql/replays/follow.sql"))
        .bind(operation)
        .bind(now)
        .bind(parked)
        .fetch_one(connection)
        .await
}

/// A refusal in the word of a column.
fn word(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotDead => "not_dead",
        Refusal::Blocked => "blocked",
        Refusal::Superseded => "superseded",
        Refusal::ConversationGone => "conversation_gone",
        _ => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_replay_stores_each_refusal_under_its_name() {
        for (refusal, kept) in [
            (Refusal::NotDead, "not_dead"),
            (Refusal::Blocked, "blocked"),
            (Refusal::Superseded, "superseded"),
            (Refusal::ConversationGone, "conversation_gone"),
            (Refusal::AtRest, "refused"),
        ] {
            assert_eq!(word(refusal), kept);
        }
    }
}
