//! What the reconciler does about tasks: it asks the task queue before it dispatches a job anew. Without the question, a backlog that
//! takes longer than the staleness limit would never drain: every pass would make the tasks at its head stale.

use std::fmt::Debug;

use db::{DueRow, Error};
use futures::{StreamExt, future::BoxFuture, stream};
use job::{Dispatch, Generation, JobId};
use outbox::DueTask;
use tokio::time::Instant;

use crate::{Reconciler, plan::goes_on, repair::Repairs};

/// How many questions are asked at once.
const AT_ONCE: usize = 8;

/// The task queue, as far as the reconciler asks it.
pub trait TaskQueue: Debug + Send + Sync {
    /// Whether the task of a dispatch still waits there, or is being delivered; `None` when the queue does not say.
    fn holds<'a>(
        &'a self,
        job: &'a JobId,
        generation: Generation,
        dispatch: Dispatch,
    ) -> BoxFuture<'a, Option<bool>>;
}

impl Reconciler {
    /// Asks for the tasks that should have been delivered by now, page by page, as [`pass`](Self::pass) does. A job whose task is gone
    /// is dispatched again under the next generation; one whose task waits is checked later.
    ///
    /// # Errors
    /// When the database does not answer: what was done until then stands.
    pub(crate) async fn ask_for_tasks(&self) -> Result<(), Error> {
        let Some(queue) = &self.settings.tasks else { return Ok(()) };
        let began = Instant::now();
        let mut repairs = Repairs::new(&self.ledger, &self.metrics);
        let mut after: Option<DueRow> = None;
        while !self.stop.is_cancelled() {
            let page = self
                .ledger
                .db()
                .in_time(self.ledger.outbox().due_tasks(after.as_ref(), self.settings.page))
                .await?;
            let (found, last) = (page.len(), page.last().map(|task| task.passed.clone()));
            let mut asked = stream::iter(page)
                .map(|task| async { (is_waiting(queue.as_ref(), &task).await, task) })
                .buffered(AT_ONCE);
            while let Some((waits, task)) = asked.next().await {
                if self.stop.is_cancelled() || began.elapsed() >= self.settings.budget {
                    return Ok(());
                }
                repairs.repair_task(&task, waits).await?;
            }
            if !goes_on(found, self.settings.page, began.elapsed(), self.settings.budget) {
                return Ok(());
            }
            after = last;
        }
        Ok(())
    }
}

/// A queue that does not say is believed to have the task, for a day.
async fn is_waiting(queue: &dyn TaskQueue, task: &DueTask) -> bool {
    let (.., job) = &task.passed;
    let holds = queue.holds(job, task.generation, task.dispatch).await;
    holds.unwrap_or(!task.is_old)
}

#[cfg(test)]
mod tests {
    use records::{Timestamp, UserId};

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
    async fn a_queue_that_does_not_say_is_believed_to_have_the_task_for_a_day() {
        let task = |is_old| DueTask {
            passed: (Timestamp::UNIX_EPOCH, UserId::new("u"), JobId::derive("u", "c", 1)),
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
