//! What the reconciler does about tasks: it asks the task queue before it dispatches a job anew. Without the question, a backlog that
//! takes longer than the staleness limit would never drain: every pass would make the tasks at its head stale.

use db::Error;
use futures::{StreamExt, stream};
use outbox::DueTask;
use tokio::time::Instant;

use crate::{Reconciler, TaskQueue, repair::Repairs};

/// How many questions are asked at once.
const AT_ONCE: usize = 8;

impl Reconciler {
    /// Asks for the tasks that should have been delivered by now, page by page, as [`pass`](Self::pass) does. A job whose task is gone
    /// is dispatched again under the next generation; one whose task waits is checked later.
    ///
    /// # Errors
    /// When the database does not answer: what was done until then stands.
    pub(crate) async fn ask_for_tasks(&self) -> Result<(), Error> {
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
