//! The pass: everything that is due, in bounded pages, oldest first.

use db::{DueRow, Error};
use tokio::time::Instant;

use crate::{Reconciler, plan::goes_on, repair::Repairs};

impl Reconciler {
    /// Says `Reconcile` to due jobs, page by page, until none is due, the budget is spent, or the process
    /// stops. Each job has a transaction of its own; one that errs is left or deferred alone.
    ///
    /// # Errors
    /// When the database does not answer: what was done until then stands.
    pub async fn pass(&self) -> Result<(), Error> {
        let began = Instant::now();
        let mut repairs = Repairs::new(&self.ledger, &self.metrics);
        let mut after: Option<DueRow> = None;
        while !self.stop.is_cancelled() {
            let page =
                self.ledger.db().in_time(self.ledger.due_page(after.as_ref(), self.settings.page)).await?;
            for (_, user, job) in &page {
                if self.stop.is_cancelled() || began.elapsed() >= self.settings.budget {
                    return Ok(());
                }
                repairs.repair(user, job).await?;
            }
            if !goes_on(page.len(), self.settings.page, began.elapsed(), self.settings.budget) {
                return Ok(());
            }
            after = page.into_iter().last();
        }
        Ok(())
    }
}
