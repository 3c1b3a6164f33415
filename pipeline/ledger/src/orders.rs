//! What operators order of one live job: that it runs now, or that it ends.

use db::Error;
use job::{Job, JobId, Refusal};

use crate::{Ledger, OperatorAction, operator::Operation};

impl Ledger {
    /// Ends the wait of a job that backs off or waits for a circuit: it is claimable at once, under the next generation, and
    /// its run asks the model server even where its circuit is open. Recorded with the change. `None`: no such job.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn run_now(
        &self,
        job: &JobId,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        self.operate(job, Operation::RunNow, action, None).await
    }

    /// Ends a live job as a settled dead letter, `cancelled_by_operator`, with its conversation failed as by any dead letter.
    /// A run loses its lease, and no write of it lands. Recorded with the change. `None`: no such job.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn cancel(
        &self,
        job: &JobId,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, Error> {
        self.operate(job, Operation::Cancel, action, None).await
    }
}
