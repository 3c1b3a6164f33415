//! Orders for all jobs that a filter finds: one row of the audit, however many jobs are found. What was done to each is
//! listed with the job alone.

use db::Error;
use job::{Job, JobId, Refusal};
use ledger::{Operation, OperatorAction};
use uuid::Uuid;

use crate::Operations;

/// What is ordered of each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderOfMany {
    /// Its wait ends.
    RunNow,
    /// A live one ends.
    Cancel,
    /// A dead letter is dismissed.
    Dismiss,
}

impl OrderOfMany {
    /// As the audit names it.
    const fn verb(self) -> &'static str {
        match self {
            Self::RunNow => "bulk_run_now",
            Self::Cancel => "bulk_cancel",
            Self::Dismiss => "bulk_discard",
        }
    }

    /// What is asked of each job.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::RunNow => Operation::RunNow,
            Self::Cancel => Operation::Cancel,
            Self::Dismiss => Operation::Discard,
        }
    }
}

/// An order that is recorded, and is given to one job after the other.
#[derive(Clone, Debug)]
pub struct GivenToMany {
    id: String,
    order: OrderOfMany,
    action: OperatorAction,
    granted: u64,
    refused: u64,
}

impl GivenToMany {
    /// How many jobs the order changed, and how many refused it or were gone.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.granted, self.refused)
    }
}

impl Operations {
    /// Records an order before the first job is changed: `filter` says in words which jobs are meant, of which `found` were
    /// found.
    pub async fn begin_order(
        &self,
        id: Uuid,
        order: OrderOfMany,
        (filter, found): (&str, u64),
        action: &OperatorAction,
    ) -> Result<GivenToMany, Error> {
        let id = id.to_string();
        let (mut transaction, now) = self.db.begin().await?;
        action.record(&mut transaction, order.verb(), None, &id, now).await?;
        sqlx::query(include_str!("../sql/orders/count.sql"))
            .bind(order.verb())
            .bind(&id)
            .bind(format!("{filter}: {found} found"))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(GivenToMany { id, order, action: action.clone(), granted: 0, refused: 0 })
    }

    /// Gives the order to one job, in a transaction of its own. `None`: no such job.
    pub async fn give_order(
        &self,
        given: &mut GivenToMany,
        job: &JobId,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        let operation = given.order.operation();
        let answer = self.ledger.operate(job, operation, &given.action, Some(&given.id)).await?;
        match answer {
            Some(Ok(_)) => given.granted += 1,
            Some(Err(_)) | None => given.refused += 1,
        }
        Ok(answer)
    }

    /// Records what the order came to. An order that was interrupted keeps the count of what was found.
    pub async fn end_order(&self, given: &GivenToMany) -> Result<(), Error> {
        let (granted, refused) = given.counts();
        sqlx::query(include_str!("../sql/orders/end.sql"))
            .bind(given.order.verb())
            .bind(&given.id)
            .bind(format!("{granted} done, {refused} refused"))
            .execute(self.db.pool())
            .await?;
        Ok(())
    }
}
