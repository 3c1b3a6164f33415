//! A delivery from outside: exactly (job, generation), by a task queue or by the process of a live session.

use job::{Command, Generation, JobId, Refusal, State, WorkerId};

use crate::{
    Claimed, Ledger,
    effects::{Abort, retry_conflicts},
    error::{Doing, Error},
    row,
};

impl Ledger {
    /// Claims exactly the dispatch (job, generation). Returns its answer, as in
    /// `listen_finalization_deliveries_total{answer}`, with the claim when it was granted.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn claim_delivery(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<(&'static str, Option<Claimed>), Error> {
        retry_conflicts!("claiming a delivered job", self.try_claim_delivery(job, generation, worker))
    }

    async fn try_claim_delivery(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<(&'static str, Option<Claimed>), Abort> {
        let (mut transaction, now) = self.begin("claiming a delivered job").await?;
        let Some(stored) = row::read(&mut transaction, job).await? else {
            return Ok(("missing", None));
        };
        let claim = Command::Claim { generation, worker: worker.clone(), keys: false };
        match self.decide_and_write(&mut transaction, &stored, claim, now).await? {
            Err(refusal) => Ok((answer(refusal, &stored.job.state), None)),
            Ok(written) => {
                transaction.commit().await.doing("claiming a delivered job")?;
                self.wake(&written.stored.job, &written.effects, written.deliveries);
                match written.stored.job.state {
                    State::Leased(_) => Ok(("claimed", Some(Claimed::from(written.stored)))),
                    _ => Ok(("dead_letter", None)),
                }
            }
        }
    }
}

/// How a refused delivery is answered (DECISIONS §4, "answer of a delivery").
fn answer(refusal: Refusal, state: &State) -> &'static str {
    match refusal {
        Refusal::StaleGeneration => "stale_generation",
        Refusal::UnknownGeneration => "unknown_generation",
        Refusal::LeaseHeld { .. } => "leased",
        Refusal::Blocked => "blocked_byok",
        Refusal::NotYet { .. } => "not_yet",
        Refusal::AtRest => match state {
            State::DeadLetter { .. } => "dead_letter",
            _ => "completed",
        },
        _ => "error",
    }
}
