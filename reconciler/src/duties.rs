//! What every mode needs done, by every process with the worker or reconciler role: bounded pages, and
//! nothing that two processes could not do at once.

use db::Error;
use futures::{StreamExt, stream};
use outbox::DueTask;
use tokio::time::Instant;

use crate::{Reconciler, TaskQueue, plan::Action, repair::Repairs};

/// How many questions the task queue is asked at once.
const AT_ONCE: usize = 8;

/// Rows of a batch that removes what is old, at most: such a one takes less than a second.
const MOST_PRUNED: i64 = 1_600;

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
        ];
        done.into_iter().collect()
    }

    /// Whether a duty that began then may go on behind its first page: what is left is the next round's.
    pub(crate) fn has_time(&self, began: Instant) -> bool {
        !self.stop.is_cancelled() && began.elapsed() < self.settings.budget
    }

    /// Says `Reconcile` to due jobs, oldest first, page by page, until none is due, the budget is spent, or the process
    /// stops. Each job has a transaction of its own; one that errs is left or deferred alone.
    ///
    /// # Errors
    /// When the database does not answer: what was done until then stands.
    pub async fn pass(&self) -> Result<(), Error> {
        let (ledger, began, mut after) = (&self.ledger, Instant::now(), None);
        let mut repairs = Repairs::new(ledger, &self.metrics);
        while !self.stop.is_cancelled() {
            let page = ledger.db().in_time(ledger.due_page(after.as_ref(), self.settings.page)).await?;
            for (user, job) in &page.found {
                if !self.has_time(began) {
                    return Ok(());
                }
                repairs.repair(user, job, ledger.db().in_time(ledger.reconcile(job))).await?;
            }
            after = page.next;
            if after.is_none() || !self.has_time(began) {
                break;
            }
        }
        Ok(())
    }

    /// Asks the task queue for the tasks that should have been delivered by now, page by page, as [`pass`](Self::pass) does. A job whose
    /// task is gone is dispatched again under the next generation; one whose task waits is checked later. Without the question, a
    /// backlog that takes longer than the staleness limit would never drain: every pass would make the tasks at its head stale.
    ///
    /// # Errors
    /// When the database does not answer: what was done until then stands.
    async fn ask_for_tasks(&self) -> Result<(), Error> {
        let Some(queue) = &self.settings.tasks else { return Ok(()) };
        let (ledger, began, mut after) = (&self.ledger, Instant::now(), None);
        let mut repairs = Repairs::new(ledger, &self.metrics);
        while !self.stop.is_cancelled() {
            let limit = self.settings.page;
            let page = ledger.db().in_time(ledger.outbox().due_tasks(after.as_ref(), limit)).await?;
            let mut asked = stream::iter(page.found)
                .map(|task| async { (is_waiting(queue.as_ref(), &task).await, task) })
                .buffered(AT_ONCE);
            while let Some((waits, task)) = asked.next().await {
                if !self.has_time(began) {
                    return Ok(());
                }
                let reconciled =
                    ledger.db().in_time(ledger.reconcile_task(&task.job_id, task.dispatch, waits));
                repairs.repair(&task.user_id, &task.job_id, reconciled).await?;
            }
            after = page.next;
            if after.is_none() || !self.has_time(began) {
                break;
            }
        }
        Ok(())
    }

    /// Admits deferred conversations whose last append is 24 h old, one transaction each. What cannot be admitted
    /// stops none behind it.
    ///
    /// # Errors
    /// When the database does not answer; when one is locked, once those behind it were tried.
    async fn admit_abandoned(&self) -> Result<(), Error> {
        let (ledger, began, mut after) = (&self.ledger, Instant::now(), None);
        let mut ended = Ok(());
        while !self.stop.is_cancelled() {
            let page = ledger.db().in_time(ledger.abandoned_page(after.as_ref(), self.settings.page)).await?;
            for (user, conversation) in &page.found {
                if self.stop.is_cancelled() {
                    return ended;
                }
                match ledger.admit_abandoned(user, conversation).await {
                    Ok(fresh) => self.metrics.count(Action::Admitted, fresh.into()),
                    Err(error) if error.is_passing() && !error.is_of_one_row() => return Err(error),
                    Err(error) if error.is_passing() => ended = Err(error),
                    Err(error) => tracing::error!(%error, "an abandoned conversation cannot be admitted"),
                }
            }
            after = page.next;
            if after.is_none() || !self.has_time(began) {
                break;
            }
        }
        ended
    }

    /// Marks conversations that stand in `processing` without a live job. There should be none.
    async fn sweep(&self) -> Result<(), Error> {
        let (ledger, began) = (&self.ledger, Instant::now());
        let mut cursor = self.swept.lock().await;
        while !self.stop.is_cancelled() {
            let page =
                ledger.db().in_time(ledger.sweep_processing(cursor.as_ref(), self.settings.page)).await?;
            for (_, conversation) in &page.found {
                tracing::error!(
                    conversation_id = conversation.as_str(),
                    "a conversation stood in processing without a job; it is marked failed"
                );
            }
            self.metrics.count(Action::Swept, page.found.len() as u64);
            *cursor = page.next;
            if cursor.is_none() || !self.has_time(began) {
                break;
            }
        }
        Ok(())
    }

    /// Removes what is older than the retention, batch by batch. What cannot be removed does not keep the rest from it. Of a backlog each
    /// batch is twice as large as the one before: whatever it finds, it looks through all installs and endpoints of apps.
    async fn prune(&self) -> Result<(), Error> {
        let (began, mut batch) = (Instant::now(), self.settings.page);
        while !self.stop.is_cancelled() {
            let (pruned, ended) = self.operations.prune(self.settings.retention, batch).await;
            let gone = [pruned.jobs, pruned.deliveries, pruned.actions, pruned.requests];
            self.metrics.count(Action::Pruned, gone.iter().sum());
            let is_full = gone.iter().chain([&pruned.short_lived]).any(|gone| *gone >= batch.unsigned_abs())
                // Theirs have a size of their own.
                || pruned.webhooks >= self.settings.page.unsigned_abs();
            if !is_full || !self.has_time(began) {
                return ended;
            }
            batch = batch.saturating_mul(2).min(MOST_PRUNED);
        }
        Ok(())
    }
}

/// A queue that does not say is believed to have the task, for a day.
async fn is_waiting(queue: &dyn TaskQueue, task: &DueTask) -> bool {
    let holds = queue.holds(&task.job_id, task.generation, task.dispatch).await;
    holds.unwrap_or(!task.is_old)
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use job::{Dispatch, Generation, JobId};
    use records::UserId;

    use super::*;

    /// A queue with one answer to all questions.
    #[derive(Debug)]
    struct Says(Option<bool>);

    impl TaskQueue for Says {
        fn holds<'a>(&'a self, _: &'a JobId, _: Generation, _: Dispatch) -> BoxFuture<'a, Option<bool>> {
            Box::pin(std::future::ready(self.0))
        }
    }

    #[tokio::test]
    async fn unknown_task_is_assumed_waiting_for_a_day() {
        let task = |is_old| DueTask {
            user_id: UserId::new("u"),
            job_id: JobId::derive("u", "c", 1),
            generation: Generation(1),
            dispatch: Dispatch(1),
            is_old,
        };
        for (says, is_old, waits) in
            [(Some(true), true, true), (Some(false), false, false), (None, false, true), (None, true, false)]
        {
            assert_eq!(is_waiting(&Says(says), &task(is_old)).await, waits, "{says:?} {is_old}");
        }
    }
}
