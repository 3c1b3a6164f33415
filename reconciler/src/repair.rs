//! `Reconcile`, said to one row after the other: what the pass and the lease watch share.

use db::Error;
use job::JobId;
use ledger::{Answer, Ledger};
use records::UserId;

use crate::{
    Metrics,
    plan::{Action, OnError},
};

/// Repairs the rows of one pass, or of one look.
pub(crate) struct Repairs<'a> {
    ledger: &'a Ledger,
    metrics: &'a Metrics,
    /// The row before met a passing error.
    trouble: bool,
    /// Some row did.
    troubled: bool,
}

impl<'a> Repairs<'a> {
    pub(crate) fn new(ledger: &'a Ledger, metrics: &'a Metrics) -> Self {
        Self { ledger, metrics, trouble: false, troubled: false }
    }

    /// Whether the database failed to answer at least once.
    pub(crate) fn met_trouble(&self) -> bool {
        self.troubled
    }

    /// Waits for `reconciled`, which says `Reconcile` to one job in time and in a transaction of its own, and counts what was done; an
    /// error is the row's, passing, or the end of the pass.
    ///
    /// # Errors
    /// When the pass must end.
    pub(crate) async fn repair(
        &mut self,
        user: &UserId,
        job: &JobId,
        reconciled: impl Future<Output = Result<Answer, Error>>,
    ) -> Result<(), Error> {
        let again = std::mem::take(&mut self.trouble);
        let error = match reconciled.await {
            Ok(answer) => {
                self.metrics.count_answer(&answer);
                return Ok(());
            }
            Err(error) => error,
        };
        match OnError::of(&error, again) {
            OnError::End => Err(error),
            OnError::GoOn => {
                tracing::warn!(job_id = job.as_str(), %error, "a job could not be reconciled; it stays due");
                (self.trouble, self.troubled) = (!error.is_of_one_row(), true);
                Ok(())
            }
            OnError::Defer => {
                tracing::error!(job_id = job.as_str(), %error, "a job cannot be reconciled; it is deferred");
                self.metrics.count(Action::Deferred, 1);
                match self.ledger.db().in_time(self.ledger.defer(user, job)).await {
                    // What refuses to be reconciled may refuse this as well: it stays due, and the others go on.
                    Err(db::Error::Refused { .. }) => {
                        (self.trouble, self.troubled) = (true, true);
                        Ok(())
                    }
                    done => done,
                }
            }
        }
    }
}
