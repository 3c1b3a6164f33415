//! What every mode needs done, by every process with the worker or reconciler role: bounded pages, and
//! nothing that two processes could not do at once.

use db::Error;
use ledger::Abandoned;
use tokio::time::Instant;

use crate::{
    Reconciler,
    plan::{Action, goes_on},
};

impl Reconciler {
    /// Reconciles due jobs, asks for tasks, admits abandoned conversations, marks stuck ones, prunes what is
    /// old. Each duty is done even when one before it failed; none is begun once the process stops, since each may
    /// wait for a database that does not answer.
    ///
    /// # Errors
    /// The first error, once all were tried.
    pub async fn do_duties(&self) -> Result<(), Error> {
        let done = [
            self.pass().await,
            self.ask_for_tasks().await,
            self.admit_abandoned().await,
            self.sweep().await,
            self.prune().await,
            self.prune_dead_letters().await,
        ];
        done.into_iter().collect()
    }

    /// Admits deferred conversations whose last append is 24 h old, one transaction each. What cannot be admitted
    /// stops none behind it.
    async fn admit_abandoned(&self) -> Result<(), Error> {
        let began = Instant::now();
        let mut after: Option<Abandoned> = None;
        while !self.stop.is_cancelled() {
            let page = self
                .ledger
                .db()
                .in_time(self.ledger.abandoned_page(after.as_ref(), self.settings.page))
                .await?;
            for (_, user, conversation) in &page {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                match self.ledger.admit_abandoned(user, conversation).await {
                    Ok(fresh) => self.metrics.count(Action::Admitted, fresh.into()),
                    Err(error) if error.is_passing() => return Err(error),
                    Err(error) => tracing::error!(%error, "an abandoned conversation cannot be admitted"),
                }
            }
            if !self.goes_on(page.len(), began) {
                return Ok(());
            }
            after = page.into_iter().last();
        }
        Ok(())
    }

    /// Marks conversations that stand in `processing` without a live job. There should be none.
    async fn sweep(&self) -> Result<(), Error> {
        let began = Instant::now();
        let mut cursor = self.cursors.swept.lock().await;
        while !self.stop.is_cancelled() {
            let page = self
                .ledger
                .db()
                .in_time(self.ledger.sweep_processing(cursor.as_ref(), self.settings.page))
                .await?;
            for found in &page.found {
                let conversation_id = found.conversation_id.as_str();
                tracing::error!(
                    conversation_id,
                    "a conversation stood in processing without a job; it is marked failed"
                );
            }
            self.metrics.count(Action::Swept, page.found.len() as u64);
            *cursor = page.next;
            if cursor.is_none() || began.elapsed() >= self.settings.budget {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Removes what is older than the retention, batch by batch. What cannot be removed does not keep the rest from it.
    async fn prune(&self) -> Result<(), Error> {
        let began = Instant::now();
        while !self.stop.is_cancelled() {
            let (pruned, ended) = self.operations.prune(self.settings.retention, self.settings.page).await;
            self.metrics
                .count(Action::Pruned, pruned.jobs + pruned.deliveries + pruned.actions + pruned.requests);
            let most = pruned.jobs.max(pruned.deliveries).max(pruned.actions).max(pruned.requests);
            if !self.goes_on(usize::try_from(most).unwrap_or(usize::MAX), began) {
                return ended;
            }
        }
        Ok(())
    }

    /// Removes dead letters that are older than the retention and can never be replayed.
    async fn prune_dead_letters(&self) -> Result<(), Error> {
        let began = Instant::now();
        let mut cursor = self.cursors.pruned.lock().await;
        while !self.stop.is_cancelled() {
            let (age, page) = (self.settings.retention, self.settings.page);
            let page = self
                .ledger
                .db()
                .in_time(self.operations.prune_dead_letters(age, cursor.as_ref(), page))
                .await?;
            self.metrics.count(Action::Pruned, page.found);
            *cursor = page.next;
            if cursor.is_none() || began.elapsed() >= self.settings.budget {
                return Ok(());
            }
        }
        Ok(())
    }

    fn goes_on(&self, found: usize, began: Instant) -> bool {
        !self.stop.is_cancelled() && goes_on(found, self.settings.page, began.elapsed(), self.settings.budget)
    }
}
