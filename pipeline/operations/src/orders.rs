//! Orders for all jobs that a filter finds: one row of the audit, however many jobs are found. What was done to each is
//! listed with the job alone.

use db::{Error, query};
use job::JobId;
use ledger::{Answer, Operation, OperatorAction};
use uuid::Uuid;

use crate::Operations;

job::named! {
    /// What is ordered of each job, as the audit names it.
    OrderOfMany {
        /// Its wait ends.
        RunNow = "bulk_run_now",
        /// A live one ends.
        Cancel = "bulk_cancel",
        /// A dead letter is dismissed.
        Dismiss = "bulk_discard",
    }
}

impl OrderOfMany {
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::RunNow => Operation::RunNow,
            Self::Cancel => Operation::Cancel,
            Self::Dismiss => Operation::Discard,
        }
    }
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

    /// Those that were not changed, in words: failed ones only where there are some.
    #[must_use]
    pub fn unchanged(&self) -> String {
        match self.failed {
            0 => format!("{} refused", self.refused),
            failed => format!("{} refused, {failed} failed", self.refused),
        }
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

    /// Counts what the order came to for one more job. An error is counted that is of its own row; others are of no one job.
    pub fn count(&mut self, answer: &Result<Answer, Error>) {
        match answer {
            Ok(Answer::Granted { .. }) => self.granted += 1,
            Ok(Answer::Refused(_) | Answer::Missing) => self.refused += 1,
            Err(error) => self.failed += u64::from(error.is_of_one_row()),
        }
    }
}

/// An order that is recorded, and is given to one job after the other.
#[derive(Clone, Debug)]
pub struct GivenToMany {
    order: OrderOfMany,
    /// What is recorded of each job, as a part of the order.
    action: OperatorAction,
    found: u64,
    /// What it came to until now.
    pub counts: OrderCounts,
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
        action.record(&mut transaction, order.as_str(), None, &id, now).await?;
        query!("orders/count.sql", order.as_str(), &id, format!("{filter}: {found} found"))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let action = OperatorAction { part_of: Some(id), ..action.clone() };
        Ok(GivenToMany { order, action, found, counts: OrderCounts::default() })
    }

    /// Gives the order to one job, in a transaction of its own.
    ///
    /// # Errors
    /// When the job's own row cannot be read or changed ([`Error::is_of_one_row`]): others can be. When the database does not
    /// answer.
    pub async fn give_order(&self, given: &mut GivenToMany, job: &JobId) -> Result<Answer, Error> {
        let answer = self.ledger.operate(job, given.order.operation(), &given.action).await;
        given.counts.count(&answer);
        answer
    }

    /// Records what the order came to, also where it ended with an error. One whose process was killed keeps the count of what
    /// was found.
    pub async fn end_order(&self, given: &GivenToMany) -> Result<(), Error> {
        let counts = given.counts;
        let unanswered = match given.found.saturating_sub(counts.sum()) {
            0 => String::new(),
            jobs => format!(", {jobs} without an answer"),
        };
        query!(
            "orders/end.sql",
            given.order.as_str(),
            &given.action.part_of,
            format!("{} done, {}{unanswered}", counts.granted, counts.unchanged())
        )
        .execute(self.db.pool())
        .await?;
        Ok(())
    }
}
