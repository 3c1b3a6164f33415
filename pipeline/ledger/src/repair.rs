//! `Reconcile`, said to one job by the lease watch and the reconciler: a part of the job's trace.

use db::Error;
use job::{Command, Dispatch, JobId, Refusal};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    Ledger,
    effects::{Abort, Answer},
    retry_conflicts,
    row::{self, StoredJob},
};

impl Ledger {
    /// Says `Reconcile` to one job (lease watch and reconciler).
    pub async fn reconcile(&self, job: &JobId) -> Result<Answer, Error> {
        // The job table is the queue: what is queued there waits for a claim.
        retry_conflicts!("reconciling a job", self.try_reconcile(job, None, true)).await
    }

    /// The same to a job whose dispatch `asked` was handed to the task queue. `task_waiting`: the queue still has the task; without
    /// it the job is dispatched again, under the next generation.
    pub async fn reconcile_task(
        &self,
        job: &JobId,
        asked: Dispatch,
        task_waiting: bool,
    ) -> Result<Answer, Error> {
        retry_conflicts!("reconciling a job", self.try_reconcile(job, Some(asked), task_waiting)).await
    }

    async fn try_reconcile(
        &self,
        job: &JobId,
        asked: Option<Dispatch>,
        task_waiting: bool,
    ) -> Result<Answer, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(read) = row::read(&mut transaction, job).await? else { return Ok(Answer::Missing) };
        if asked.is_some_and(|asked| asked != read.job.dispatch) {
            // The answer is about a dispatch that was replaced meanwhile.
            return Ok(Answer::Refused(Refusal::NotDue));
        }
        let span = span(&read);
        let repair = async {
            let command = Command::Reconcile { task_waiting };
            let answer = self.decide(&mut transaction, &read, command, None, now).await?;
            self.commit(transaction, answer).await
        };
        let answer = repair.instrument(span.clone()).await;
        match &answer {
            Ok(Answer::Granted { job, .. }) => span.record("became", job.state.status()),
            Ok(_) => span.record("became", "refused"),
            Err(Abort::Conflict) => span.record("became", "lost"),
            Err(_) => span.record("otel.status_code", "ERROR"),
        };
        answer
    }
}

/// A repair: a child of its job's admission, so that what became of a request is one trace; without one, a part of
/// what its caller does.
fn span(stored: &StoredJob) -> Span {
    let job = &stored.job;
    let span = tracing::info_span!(
        target: trace::TARGET,
        "repair",
        otel.status_code = Empty,
        job_id = job.id.as_str(),
        generation = job.generation.0,
        crashes = job.crashes,
        status = job.state.status(),
        became = Empty,
    );
    stored.trace.inspect(|trace| trace.lead(&span));
    span
}
