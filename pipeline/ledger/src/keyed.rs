//! Runs with a user's own keys (DECISIONS §4). The keys never come here: only the word that a process holds them.

use chrono::Duration;
use db::{Doing, Error};
use job::{Command, Effect, Job, JobId, Refusal, State, Timestamp, WorkerId};
use sqlx::PgConnection;

use crate::{Claimed, Ledger, claim::is_paused, effects::Abort, retry_conflicts, row};

/// A request brought its user's own keys: its job requires them, and no run without them is ever granted.
#[derive(Clone, Copy, Debug)]
pub struct WithKeys<'a> {
    /// Who takes the lease in the admitting transaction; `None` while no keyed slot is free: the job is parked
    /// until the process that holds the keys claims it.
    pub claimant: Option<&'a WorkerId>,
}

/// What came of a claim by a process that holds the keys.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyedClaim {
    /// To be run.
    Granted {
        /// The run.
        claimed: Box<Claimed>,
        /// It took over from a run that crashed (`listen_finalization_retries_total`).
        retry: bool,
    },
    /// Another run holds the lease.
    Held {
        /// What is left of it, unless it is renewed.
        wait: Duration,
    },
    /// An operator paused its queue: it is as it was, and to be asked for again.
    Paused,
    /// Keys have nothing more to do here: the job is at rest, gone, or its own queue's.
    Over {
        /// This claim was the crash too many (`listen_finalization_dead_letter_total`).
        dead_letter: bool,
    },
}

/// How an admission goes about keys.
#[derive(Clone, Copy)]
pub(crate) struct Keying<'a> {
    /// The user is marked, or the request brought some.
    pub(crate) required: bool,
    claimant: Option<&'a WorkerId>,
}

impl<'a> Keying<'a> {
    pub(crate) fn of(marked: bool, brought: Option<WithKeys<'a>>) -> Self {
        Self { required: marked || brought.is_some(), claimant: brought.and_then(|keys| keys.claimant) }
    }
}

impl Ledger {
    /// Claims the present dispatch of a job that requires keys, for a process that holds them. A job that does not
    /// require any is left to its queue, which may be about to run it with the service's own.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn claim_with_keys(&self, job: &JobId, worker: &WorkerId) -> Result<KeyedClaim, Error> {
        let claim = async { retry_conflicts!("claiming with keys", self.try_claim_with_keys(job, worker)) };
        self.db.in_time(claim).await
    }

    async fn try_claim_with_keys(&self, job: &JobId, worker: &WorkerId) -> Result<KeyedClaim, Abort> {
        const OVER: KeyedClaim = KeyedClaim::Over { dead_letter: false };
        let (mut transaction, now) = self.db.begin("claiming with keys").await?;
        let stored = match row::read(&mut transaction, job).await? {
            Some(stored) if stored.job.requires_keys => stored,
            _ => return Ok(OVER),
        };
        if !stored.job.state.is_terminal() && is_paused(&mut transaction, stored.job.queue).await? {
            return Ok(KeyedClaim::Paused);
        }
        let claim = keyed_claim(&stored.job, worker);
        let written = match self.decide_and_write(&mut transaction, &stored, claim, now).await? {
            Ok(written) => written,
            Err(Refusal::LeaseHeld { until }) => return Ok(KeyedClaim::Held { wait: until - now }),
            Err(_) => return Ok(OVER),
        };
        transaction.commit().await.doing("claiming with keys")?;
        self.wake(&written.stored.job, &written.effects, written.deliveries);
        let retry = written.counts(Effect::CountRetry);
        Ok(match written.stored.job.state {
            State::Leased(_) => {
                KeyedClaim::Granted { claimed: Box::new(Claimed::from(written.stored)), retry }
            }
            _ => KeyedClaim::Over { dead_letter: written.counts(Effect::CountDeadLetter) },
        })
    }

    /// Leases a job that was admitted a moment ago, in the admitting transaction (epoch 1), when its request brought
    /// keys, a keyed slot is free and its queue is not paused.
    pub(crate) async fn claim_at_once(
        &self,
        connection: &mut PgConnection,
        job: &JobId,
        keying: Keying<'_>,
        now: Timestamp,
    ) -> Result<Option<Claimed>, Abort> {
        let Some(worker) = keying.claimant else { return Ok(None) };
        let stored = row::read(connection, job).await?.ok_or(Abort::Conflict)?;
        if is_paused(connection, stored.job.queue).await? {
            return Ok(None);
        }
        let claim = keyed_claim(&stored.job, worker);
        let written = self.decide_and_write(connection, &stored, claim, now).await?;
        Ok(written.ok().map(|written| Claimed::from(written.stored)))
    }
}

fn keyed_claim(job: &Job, worker: &WorkerId) -> Command {
    Command::Claim { generation: job.generation, worker: worker.clone(), keys: true }
}
