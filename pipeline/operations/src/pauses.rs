//! Queues that are not claimed from until an operator says so. The claim asks in its own statement, and a process that holds a
//! person's keys before it claims, so that a pause holds from the transaction that makes it, in every process; runs that
//! have begun go on.

use db::{Error, query, query_as};
use job::{Queue, Timestamp};
use ledger::OperatorAction;

use crate::Operations;

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Pause {
    /// `finalization` or `creation`.
    pub queue: String,
    pub operator: String,
    pub reason: String,
    pub paused_at: Timestamp,
}

impl Operations {
    /// Pauses claiming from `queue`. `false`: it is paused already, and stays as it was.
    pub async fn pause(&self, queue: Queue, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let paused = query!("pauses/pause.sql", queue.as_str(), &action.operator, &action.reason, now)
            .execute(&mut *transaction)
            .await?;
        if paused.rows_affected() == 0 {
            return Ok(false);
        }
        action.record(&mut transaction, "pause", None, queue.as_str(), now).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Claims from `queue` again; workers notice within a second, and processes that hold
    /// a person's keys when it asks next. `false`: it was not paused.
    pub async fn resume(&self, queue: Queue, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let resumed = query!("pauses/resume.sql", queue.as_str()).execute(&mut *transaction).await?;
        if resumed.rows_affected() == 0 {
            return Ok(false);
        }
        action.record(&mut transaction, "resume", None, queue.as_str(), now).await?;
        transaction.commit().await?;
        self.db.waker().job_queued(queue);
        Ok(true)
    }

    pub async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        Ok(query_as!("pauses/list.sql").fetch_all(self.db.pool()).await?)
    }
}
