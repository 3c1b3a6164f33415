//! A delivery of exactly (job, generation) outside the bells table.

use job::{Command, Generation, JobId, State, WorkerId};

use super::{Claimed, answer};
use crate::{
    Ledger,
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    row,
};

impl Ledger {
    /// Delivers exactly (job, generation): the internal route's verb. Answers as
    /// `listen_finalization_deliveries_total{answer}` does, with the claim when it was granted.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn claim(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<(&'static str, Option<Claimed>), Error> {
        until_stored!(self, "claiming a job", |bell| self.try_claim(job, generation, worker, bell))
    }

    async fn try_claim(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
        bell: Bell,
    ) -> Result<(&'static str, Option<Claimed>), Stumble> {
        let (mut transaction, now) = self.begin("claiming a job").await?;
        let Some(stored) = row::read(&mut transaction, job).await? else {
            return Ok(("missing", None));
        };
        let claim = Command::Claim { generation, worker: worker.clone(), keys: false };
        match self.decide_and_write(&mut transaction, &stored, claim, now, bell).await? {
            Err(refusal) => Ok((answer(refusal, &stored.job.state), None)),
            Ok(written) => {
                transaction.commit().await.doing("claiming a job")?;
                self.wake(&written.stored.job, &written.effects, written.told);
                match written.stored.job.state {
                    State::Leased(_) => Ok(("claimed", Some(Claimed::from(written.stored)))),
                    _ => Ok(("dead_letter", None)),
                }
            }
        }
    }
}
