//! A delivery from outside: exactly (job, generation), by a task queue or by the process of a live session.

use std::time::Duration;

use db::{Doing, Error};
use job::{Command, Effect, Generation, JobId, Refusal, State, Timestamp, WorkerId};

use crate::{Claimed, Ledger, claim::is_paused, effects::Abort, retry_conflicts, row};

/// How long a delivery to a paused queue waits before it is delivered again.
const PAUSED: Duration = Duration::from_secs(60);

/// What came of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryClaim {
    /// To be run.
    Granted {
        /// The run.
        claimed: Box<Claimed>,
        /// It took over from a run that crashed (`listen_finalization_retries_total`).
        retry: bool,
    },
    /// This claim was the crash too many: the job is a dead letter now.
    GivenUp,
    /// Another run holds the lease for this long, unless it is renewed.
    Leased(Duration),
    /// The job may not be claimed before this is over.
    NotYet(Duration),
    /// Delivering it again changes nothing. The answer's name, as in `listen_finalization_deliveries_total{answer}`.
    Over(&'static str),
}

impl DeliveryClaim {
    /// Its name in `listen_finalization_deliveries_total{answer}`.
    pub fn answer(&self) -> &'static str {
        match self {
            Self::Granted { .. } => "claimed",
            Self::GivenUp => "dead_letter",
            Self::Leased(_) => "leased",
            Self::NotYet(_) => "not_yet",
            Self::Over(answer) => answer,
        }
    }

    /// Its name, and the run when it was granted.
    pub fn parts(self) -> (&'static str, Option<Claimed>) {
        let answer = self.answer();
        match self {
            Self::Granted { claimed, .. } => (answer, Some(*claimed)),
            _ => (answer, None),
        }
    }
}

impl Ledger {
    /// Claims exactly the dispatch (job, generation).
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn claim_delivery(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<DeliveryClaim, Error> {
        retry_conflicts!("claiming a delivered job", self.try_claim_delivery(job, generation, worker))
    }

    async fn try_claim_delivery(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<DeliveryClaim, Abort> {
        let (mut transaction, now) = self.db.begin("claiming a delivered job").await?;
        let Some(stored) = row::read(&mut transaction, job).await? else {
            return Ok(DeliveryClaim::Over("missing"));
        };
        let is_waiting =
            stored.job.generation == generation && matches!(stored.job.state, State::Queued { .. });
        if is_waiting && is_paused(&mut transaction, stored.job.queue).await? {
            return Ok(DeliveryClaim::NotYet(PAUSED));
        }
        let claim = Command::Claim { generation, worker: worker.clone(), keys: false };
        match self.decide_and_write(&mut transaction, &stored, claim, now).await? {
            Err(refusal) => Ok(refused(refusal, &stored.job.state, now)),
            Ok(written) => {
                transaction.commit().await.doing("claiming a delivered job")?;
                self.wake(&written.stored.job, &written.effects, written.deliveries);
                let retry = written.counts(Effect::CountRetry);
                match written.stored.job.state {
                    State::Leased(_) => {
                        Ok(DeliveryClaim::Granted { claimed: Box::new(Claimed::from(written.stored)), retry })
                    }
                    _ => Ok(DeliveryClaim::GivenUp),
                }
            }
        }
    }
}

/// How a refused delivery is answered (DECISIONS §4, "answer of a delivery").
fn refused(refusal: Refusal, state: &State, now: Timestamp) -> DeliveryClaim {
    let left = |until: Timestamp| (until - now).to_std().unwrap_or_default();
    match refusal {
        Refusal::StaleGeneration => DeliveryClaim::Over("stale_generation"),
        Refusal::UnknownGeneration => DeliveryClaim::Over("unknown_generation"),
        Refusal::LeaseHeld { until } => DeliveryClaim::Leased(left(until)),
        Refusal::Blocked => DeliveryClaim::Over("blocked_byok"),
        Refusal::NotYet { until } => DeliveryClaim::NotYet(left(until)),
        Refusal::AtRest => match state {
            State::DeadLetter { .. } => DeliveryClaim::Over("dead_letter"),
            _ => DeliveryClaim::Over("completed"),
        },
        _ => DeliveryClaim::Over("error"),
    }
}
