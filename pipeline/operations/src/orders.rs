//! Orders for all jobs that a filter finds: one row of the audit, however many jobs are found. What was done to each is
//! listed with the job alone.

use db::Error;
use job::{JobId, Refusal};
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

/// What an order came to for one of several jobs.
#[derive(Debug)]
pub enum OrderResult {
    /// It was changed.
    Granted,
    /// Its state refused, and why; `None`: there is no such job.
    Refused(Option<Refusal>),
    /// Its own row could not be read or changed. Others can be.
    Failed(Error),
}

/// How many jobs of an order came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    pub granted: u64,
    /// Those that refused it or were gone.
    pub refused: u64,
    /// Those whose own row could not be read or changed.
    pub failed: u64,
}

impl OrderCounts {
    /// How many jobs gave an answer.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.granted.saturating_add(self.refused).saturating_add(self.failed)
    }

    /// With those of another shard.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            granted: self.granted.saturating_add(other.granted),
            refused: self.refused.saturating_add(other.refused),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// Counts what the order came to for one more job.
    pub const fn count(&mut self, result: &OrderResult) {
        match result {
            OrderResult::Granted => self.granted += 1,
            OrderResult::Refused(_) => self.refused += 1,
            OrderResult::Failed(_) => self.failed += 1,
        }
    }
}

/// An order that is recorded, and is given to one job after the other.
#[derive(Clone, Debug)]
pub struct GivenToMany {
    id: String,
    order: OrderOfMany,
    action: OperatorAction,
    found: u64,
    counts: OrderCounts,
}

impl GivenToMany {
    /// What it came to until now.
    #[must_use]
    pub const fn counts(&self) -> OrderCounts {
        self.counts
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
        Ok(GivenToMany { id, order, action: action.clone(), found, counts: OrderCounts::default() })
    }

    /// Gives the order to one job, in a transaction of its own.
    ///
    /// # Errors
    /// As [`operate_one_of`](Self::operate_one_of).
    pub async fn give_order(&self, given: &mut GivenToMany, job: &JobId) -> Result<OrderResult, Error> {
        let operation = given.order.operation();
        let result = self.operate_one_of(job, operation, &given.action, Some(&given.id)).await?;
        given.counts.count(&result);
        Ok(result)
    }

    /// Gives an order to one of several jobs, in a transaction of its own.
    ///
    /// # Errors
    /// When the other jobs would end with the same error.
    pub async fn operate_one_of(
        &self,
        job: &JobId,
        operation: Operation,
        action: &OperatorAction,
        part_of: Option<&str>,
    ) -> Result<OrderResult, Error> {
        match self.ledger.operate(job, operation, action, part_of).await {
            Ok(Some(Ok(_))) => Ok(OrderResult::Granted),
            Ok(Some(Err(refusal))) => Ok(OrderResult::Refused(Some(refusal))),
            Ok(None) => Ok(OrderResult::Refused(None)),
            Err(error) if error.is_of_one_row() => Ok(OrderResult::Failed(error)),
            Err(error) => Err(error),
        }
    }

    /// Records what the order came to, also where it ended with an error. One whose process was killed keeps the count of what
    /// was found.
    pub async fn end_order(&self, given: &GivenToMany) -> Result<(), Error> {
        let OrderCounts { granted, refused, failed } = given.counts;
        let some = |jobs: u64, what: &str| if jobs > 0 { format!(", {jobs} {what}") } else { String::new() };
        let unanswered = some(given.found.saturating_sub(given.counts.sum()), "without an answer");
        let failed = some(failed, "failed");
        sqlx::query(include_str!("../sql/orders/end.sql"))
            .bind(given.order.verb())
            .bind(&given.id)
            .bind(format!("{granted} done, {refused} refused{failed}{unanswered}"))
            .execute(self.db.pool())
            .await?;
        Ok(())
    }
}
