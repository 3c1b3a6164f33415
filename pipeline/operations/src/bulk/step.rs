//! Working operations off: one item per transaction, under the lock of its operation's row, by whichever process comes first.

use chrono::TimeDelta;
use db::{Error, query, query_as, query_scalar};
use job::{Job, JobId, Refusal, Timestamp};
use ledger::{Answer, Operation, OperatorAction, effects::Abort, retry_conflicts, row};
use sqlx::{Acquire as _, PgConnection};

use crate::Operations;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    Replayed,
    /// An item was refused, and why is recorded.
    Refused,
    /// Nothing may be replayed yet, by the rate or because enough jobs are unfinished: it is due again in half a second.
    Waits,
    /// All items are done and all replayed jobs have come to rest.
    Done,
    /// The operation was paused or cancelled, or another process is at it.
    Left,
}

/// How soon an operation that waits is looked at again.
const LOOK: &str = "500 milliseconds";
/// How soon one is looked at again whose step failed of a row: each try may wait two seconds for its lock, and others wait meanwhile.
const FAILED: &str = "10 seconds";

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
    /// The running operation that is due next behind `last`, in the order of their ids and then from their beginning.
    pub async fn due_replay(&self, last: &str) -> Result<Option<String>, Error> {
        Ok(query_scalar!("replays/due.sql", last).fetch_optional(self.db.pool()).await?)
    }

    /// One step: notes which replayed jobs have come to rest, and replays the next item if the caps allow it. The
    /// item is marked in the transaction that replays its job. One whose job cannot be read or stored is refused
    /// with `error`, and blocks no other. `executor` is shown to operators.
    ///
    /// # Errors
    /// When the database does not answer, or refuses what it would refuse for any item: the same step is asked for again. When a row
    /// cannot be changed ([`Error::is_of_one_row`]): the operation is due again in ten seconds.
    pub async fn step_replay(&self, operation: &str, executor: &str) -> Result<Stepped, Error> {
        let stepped = retry_conflicts!("replaying an item", self.try_step(operation, executor)).await;
        if stepped.as_ref().is_err_and(Error::is_of_one_row) {
            query!("replays/defer.sql", operation, FAILED).execute(self.db.pool()).await?;
        }
        stepped
    }

    async fn try_step(&self, id: &str, executor: &str) -> Result<Stepped, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let held: Option<OperationRow> =
            query_as!("replays/hold.sql", id, executor, now, LOOK).fetch_optional(&mut *transaction).await?;
        let Some(operation) = held else { return Ok(Stepped::Left) };
        let unfinished = come_to_rest(&mut transaction, id, now, false).await?;
        let next: Option<ItemRow> =
            query_as!("replays/next_item.sql", id).fetch_optional(&mut *transaction).await?;
        let mut woken = None;
        let stepped = match next {
            None if unfinished == 0 => {
                query!("replays/finish.sql", id, now).execute(&mut *transaction).await?;
                Stepped::Done
            }
            Some(item) if unfinished < i64::from(operation.in_flight) && operation.next_at <= now => {
                let mut savepoint = transaction.begin().await?;
                let replayed = match self.replay_item(&mut savepoint, id, &operation, &item, now).await {
                    Ok(Ok(job)) => {
                        savepoint.commit().await?;
                        Ok(job)
                    }
                    Ok(Err(why)) => {
                        savepoint.rollback().await?;
                        Err(why)
                    }
                    // What is not of this item would refuse all those behind it, too.
                    Err(Abort::Failed(error)) if error.is_of_one_row() && !error.is_passing() => {
                        savepoint.rollback().await?;
                        Err("error")
                    }
                    Err(other) => {
                        drop(savepoint);
                        // Ended here and not left to the driver: the next try would take its own lock for another process's.
                        let _ended = transaction.rollback().await;
                        return Err(other);
                    }
                };
                // A second's worth of items may be made up for after a wait.
                let on_time = operation.next_at.max(now - TimeDelta::seconds(1)) + operation.pace();
                let (status, result, count, next_at) = match &replayed {
                    Ok(_) => ("replayed", None, 1, on_time),
                    Err(why) => ("refused", Some(*why), 0, operation.next_at),
                };
                query!("replays/note_item.sql", id, item.position, status, result, now, count, next_at)
                    .execute(&mut *transaction)
                    .await?;
                woken = replayed.ok();
                if woken.is_some() { Stepped::Replayed } else { Stepped::Refused }
            }
            _ => Stepped::Waits,
        };
        transaction.commit().await?;
        if let Some(job) = woken {
            self.ledger.wake(&job);
        }
        Ok(stepped)
    }

    /// Notes which replayed jobs have come to rest, whatever the status of their operations: jobs go on when those are
    /// paused or cancelled, and no step is made then. With `parked` also where all that is left waits for its users'
    /// keys, which may take days. A locked operation is skipped until the next time.
    pub async fn follow_replays(&self, parked: bool) -> Result<(), Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let followed: Vec<String> =
            query_scalar!("replays/followed.sql", parked).fetch_all(&mut *transaction).await?;
        for operation in &followed {
            come_to_rest(&mut transaction, operation, now, parked).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Replays the job of an item. What was written for one that is refused is not to be kept.
    async fn replay_item(
        &self,
        connection: &mut PgConnection,
        id: &str,
        operation: &OperationRow,
        item: &ItemRow,
        now: Timestamp,
    ) -> Result<Replayed, Abort> {
        let job = JobId::from_text(item.job_id.clone());
        let Some(read) = row::read(connection, &job).await? else { return Ok(Err("missing")) };
        if read.job.generation.0 != item.generation {
            return Ok(Err("changed"));
        }
        let replay = Operation::Replay { from_scratch: operation.from_scratch };
        let action = OperatorAction {
            part_of: Some(id.to_owned()),
            ..OperatorAction::new(&operation.operator, &operation.reason)
        };
        Ok(match self.ledger.operate_on(connection, &read, replay, &action, now).await? {
            // An operator gave it up after the list was made.
            Answer::Granted { .. } if read.job.settled_at.is_some() => Err("dismissed"),
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
    query_scalar!("replays/follow.sql", operation, now, parked).fetch_one(connection).await
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
