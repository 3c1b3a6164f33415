//! Runs with a user's own keys (DECISIONS §4). The keys never come here: only the word that a process holds them.

use job::{Command, JobId, Timestamp, WorkerId};
use sqlx::PgConnection;

use crate::{Claimed, Ledger, claim::is_paused, effects::Abort, row};

/// A request brought its user's own keys: its job requires them, and no run without them is ever granted.
#[derive(Clone, Copy, Debug)]
pub struct WithKeys<'a> {
    /// Who takes the lease in the admitting transaction; `None` while no keyed slot is free: the job is parked
    /// until the process that holds the keys claims it.
    pub claimant: Option<&'a WorkerId>,
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
        let generation = stored.job.generation;
        let claim = Command::Claim { generation, worker: worker.clone(), keys: true };
        let written = self.decide_and_write(connection, &stored, claim, None, now).await?;
        Ok(written.ok().map(|written| Claimed::from(written.stored)))
    }
}
