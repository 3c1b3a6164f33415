//! `Reconcile`, said to one job by the lease watch and the reconciler: a part of the job's trace.

use job::{Command, JobId, Timestamp};
use records::UserId;
use sqlx::{Postgres, Transaction};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    Answer, Ledger,
    edges::bell_waits,
    effects::{Bell, Stumble},
    error::{Doing, Error},
    row::{self, Stored},
};

impl Ledger {
    /// Says `Reconcile` to one job (lease watch and reconciler). When its bell cannot be written, nothing changes but
    /// the next look, 60 s away, and the error tells the caller to end its pass.
    ///
    /// # Errors
    /// When the database does not answer, the bell cannot be written, or the row cannot be read.
    pub async fn reconcile(&self, user: &UserId, job: &JobId) -> Result<Answer, Error> {
        for _ in 0..crate::effects::TRIES {
            match self.try_reconcile(job).await {
                Ok(answer) => return Ok(answer),
                Err(Stumble::Lost) => {}
                Err(Stumble::Broken(error)) => return Err(error),
                Err(Stumble::Bell(source)) => {
                    self.bell_failed(&source);
                    self.look_later(user, job).await?;
                    return Err(Error::Unavailable { doing: crate::error::RINGING, source });
                }
            }
        }
        Err(Error::Contended { doing: "reconciling a job" })
    }

    async fn try_reconcile(&self, job: &JobId) -> Result<Answer, Stumble> {
        let (mut transaction, now) = self.begin("reconciling a job").await?;
        let Some(stored) = row::read(&mut transaction, job).await? else { return Ok(Answer::Missing) };
        let span = repair(&stored);
        let answer = self.repair(transaction, &stored, now).instrument(span.clone()).await;
        match &answer {
            Ok(Answer::Granted { state, .. }) => span.record("became", state.status()),
            Ok(_) => span.record("became", "refused"),
            Err(Stumble::Lost) => span.record("became", "lost"),
            Err(_) => span.record("otel.status_code", "ERROR"),
        };
        answer
    }

    async fn repair(
        &self,
        mut transaction: Transaction<'_, Postgres>,
        stored: &Stored,
        now: Timestamp,
    ) -> Result<Answer, Stumble> {
        let bell_waiting = match bell_waits(&mut transaction, stored, now).await {
            // Bells that the server refuses to show are away; a server that is away is no matter of bells.
            Err(error @ sqlx::Error::Database(_)) => return Err(Stumble::Bell(error)),
            looked => looked.doing("looking for a job's bell")?,
        };
        let command = Command::Reconcile { bell_waiting };
        match self.decide_and_write(&mut transaction, stored, command, now, Bell::Write).await? {
            Err(refusal) => Ok(Answer::Refused(refusal)),
            Ok(written) => {
                transaction.commit().await.doing("reconciling a job")?;
                self.wake(&written.stored.job, &written.effects, written.told);
                Ok(Answer::from(&written))
            }
        }
    }
}

/// A repair: a child of its job's admission, so that what became of a request is one trace; without one, a part of
/// what its caller does.
fn repair(stored: &Stored) -> Span {
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
