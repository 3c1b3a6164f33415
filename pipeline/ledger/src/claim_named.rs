//! A claim that names its job: delivered by a task queue or by the process of a live session, or made by the process that
//! holds its user's keys.

use std::time::Duration;

use db::Error;
use job::{Command, Generation, JobId, Refusal, State, Timestamp, WorkerId};

use crate::{
    Ledger, StoredJob,
    claim::is_paused,
    effects::{Abort, Answer},
    retry_conflicts, row,
};

const DOING: &str = "claiming a job by its name";

/// How long a delivery to a paused queue waits before it is delivered again.
const PAUSED: Duration = Duration::from_secs(60);
/// How long keys wait for a paused queue until they are asked for again.
const KEYS_PAUSED: Duration = Duration::from_secs(4);

/// What came of a claim that names its job.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedClaim {
    /// To be run.
    Granted {
        claimed: Box<StoredJob>,
        /// It took over from a run that crashed (`listen_finalization_retries_total`).
        retry: bool,
    },
    /// This claim was the crash too many: the job is a dead letter now.
    GivenUp,
    /// Another run holds the lease for this long, unless it is renewed.
    Leased(Duration),
    /// The job may not be claimed before this is over.
    NotYet(Duration),
    /// The job was completed before.
    Completed,
    /// Claiming it again changes nothing. The answer's name, as in `listen_finalization_deliveries_total{answer}`.
    Over(&'static str),
}

impl NamedClaim {
    /// Its name in `listen_finalization_deliveries_total{answer}`.
    pub fn answer(&self) -> &'static str {
        match self {
            Self::Granted { .. } => "claimed",
            Self::GivenUp => "dead_letter",
            Self::Leased(_) => "leased",
            Self::NotYet(_) => "not_yet",
            Self::Completed => "completed",
            Self::Over(answer) => answer,
        }
    }
}

/// How the delivery of a job ended, for its sender (DECISIONS §4, "run route").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The run completed the job.
    Done,
    /// The run, or the claim, was the last one: the job is a dead letter.
    DeadLetter,
    /// The run failed, or was released: the job is queued again from that time on, for another dispatch.
    Retry(Timestamp),
    /// The job was completed before.
    Acked,
    /// Delivering it is of no use; why.
    Dropped(&'static str),
    /// A run holds its lease for this long, unless it is renewed.
    Leased(Duration),
    /// It may not be claimed before this is over.
    NotYet(Duration),
    /// No slot is free, the process stops, or the database does not answer.
    Busy,
}

impl Ledger {
    /// Claims exactly the dispatch (job, generation).
    pub async fn claim_delivery(
        &self,
        job: &JobId,
        generation: Generation,
        worker: &WorkerId,
    ) -> Result<NamedClaim, Error> {
        retry_conflicts!(DOING, self.try_claim_named(job, Some(generation), worker)).await
    }

    /// Claims the present dispatch of a job that requires keys, for a process that holds them. A job that does not
    /// require any is left to its queue, which may be about to run it with the service's own.
    pub async fn claim_with_keys(&self, job: &JobId, worker: &WorkerId) -> Result<NamedClaim, Error> {
        retry_conflicts!(DOING, self.try_claim_named(job, None, worker)).await
    }

    /// Claims the dispatch that was `delivered`, with the service's own keys, or else the present one of a job that requires its user's.
    async fn try_claim_named(
        &self,
        job: &JobId,
        delivered: Option<Generation>,
        worker: &WorkerId,
    ) -> Result<NamedClaim, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(stored) = row::read(&mut transaction, job).await? else {
            return Ok(NamedClaim::Over("missing"));
        };
        let (generation, keys, paused) = match delivered {
            Some(generation) => (generation, false, PAUSED),
            None if stored.job.requires_keys => (stored.job.generation, true, KEYS_PAUSED),
            None => return Ok(NamedClaim::Over("not_keyed")),
        };
        let waits = match stored.job.state {
            State::Queued { .. } => stored.job.generation == generation,
            State::BlockedByok => keys,
            State::Leased(_) | State::Completed { .. } | State::DeadLetter { .. } => false,
        };
        if waits && is_paused(&mut transaction, stored.job.queue).await? {
            return Ok(NamedClaim::NotYet(paused));
        }
        let claim = Command::Claim { generation, worker: worker.clone(), keys };
        let answer = self.decide(&mut transaction, &stored, claim, None, now).await?;
        Ok(match self.commit(transaction, answer).await? {
            Answer::Granted { dead_letter: true, .. } => NamedClaim::GivenUp,
            Answer::Granted { job, retry, .. } => {
                NamedClaim::Granted { claimed: Box::new(StoredJob { job, ..stored }), retry }
            }
            Answer::Refused(refusal) => refused(refusal, &stored.job.state, now),
            Answer::Missing => NamedClaim::Over("missing"),
        })
    }
}

/// How a refused claim is answered (`docs/cloud-tasks.md`).
fn refused(refusal: Refusal, state: &State, now: Timestamp) -> NamedClaim {
    let left = |until: Timestamp| (until - now).to_std().unwrap_or_default();
    match refusal {
        Refusal::StaleGeneration => NamedClaim::Over("stale_generation"),
        Refusal::UnknownGeneration => NamedClaim::Over("unknown_generation"),
        Refusal::LeaseHeld { until } => NamedClaim::Leased(left(until)),
        Refusal::Blocked => NamedClaim::Over("blocked_byok"),
        Refusal::NotYet { until } => NamedClaim::NotYet(left(until)),
        Refusal::AtRest => match state {
            State::DeadLetter { .. } => NamedClaim::Over("dead_letter"),
            _ => NamedClaim::Completed,
        },
        _ => NamedClaim::Over("error"),
    }
}
