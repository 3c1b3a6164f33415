//! Renewal: all leases of a process at once, through a pool of its own.

use std::collections::HashMap;

use db::{Error, query_as};
use job::{Command, JobId, Refusal, State, Timestamp, decide};

use crate::{
    LeaseToken, Ledger,
    history::Detail,
    row::{self, JobRow, StoredJob},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Later `expires_at`.
    Renewed {
        /// When the lease now ends.
        until: Timestamp,
    },
    /// The claim's own completion is committed: the run is about to learn of it itself.
    Done,
    /// Another claim has the job, or it is terminal: stop the run, write nothing more.
    Lost,
    /// The run limit is over: fail with `run_timeout`.
    RunLimit,
}

impl Ledger {
    /// Renews all leases of a process. Returns in the order of its argument. A locked row is
    /// skipped: its lease stands as it is until the next heartbeat. A holder that asks after its lease was given to another,
    /// or back to the queue, gets `Lost`, and the crash that was counted for it is taken back.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats until it is answered.
    pub async fn renew(&self, tokens: &[LeaseToken]) -> Result<Vec<Renewal>, Error> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let (mut transaction, now) = self.db.begin_renewing().await?;
        let users: Vec<&str> = tokens.iter().map(|token| token.user_id.as_str()).collect();
        let ids: Vec<&str> = tokens.iter().map(|token| token.job_id.as_str()).collect();
        let free: Vec<JobRow> =
            query_as!("jobs/lock_free.sql", &users, &ids).fetch_all(&mut *transaction).await?;
        let mut answers = HashMap::new();
        let mut renewed = Vec::new();
        for row in free {
            let Some(read) = readable(row) else { continue };
            let mut stored = read.clone();
            for token in of_job(tokens, &read.job.id) {
                answers.insert(token, self.renewal(token, &mut stored, now));
            }
            if stored != read {
                renewed.push(stored);
            }
        }
        row::store(&mut transaction, &renewed.iter().collect::<Vec<_>>(), now, &self.policy).await?;
        let passed: Vec<&str> = tokens
            .iter()
            .filter(|held| !answers.contains_key(held))
            .map(|held| held.job_id.as_str())
            .collect();
        if !passed.is_empty() {
            let held: Vec<JobRow> =
                query_as!("jobs/of_ids.sql", &passed).fetch_all(&mut *transaction).await?;
            for row in held {
                let Some(stored) = readable(row) else { continue };
                for token in of_job(tokens, &stored.job.id) {
                    answers.insert(token, standing(token, &stored));
                }
            }
        }
        transaction.commit().await?;
        Ok(tokens.iter().map(|held| answers.get(held).copied().unwrap_or(Renewal::Lost)).collect())
    }

    /// The last word of a run that has lost its lease: its process lives, so what was counted as a crash is taken back. Waits
    /// for the row, which the run's own refused write may hold for a moment, while a renewal passes it by.
    ///
    /// # Errors
    /// When the database does not answer; the crash then stays counted.
    pub async fn prove_alive(&self, token: &LeaseToken) -> Result<(), Error> {
        let (mut transaction, now) = self.db.begin_renewing().await?;
        let mut rows = row::read_locked(&mut transaction, &[token.job_id.as_str()]).await?;
        let Some(read) = rows.remove(token.job_id.as_str()) else { return Ok(()) };
        let mut stored = read.clone();
        self.take_back_crash(token, &mut stored, now);
        if stored != read {
            row::store(&mut transaction, &[&stored], now, &self.policy).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Renews one lease in `stored`. A holder that comes too late has lost it, and proves with its word that it lives.
    fn renewal(&self, token: &LeaseToken, stored: &mut StoredJob, now: Timestamp) -> Renewal {
        let renew = Command::Renew { epoch: token.epoch };
        match decide(&stored.job, renew.clone(), now, &self.policy) {
            Ok(step) => {
                stored.job = step.job;
                standing(token, stored)
            }
            Err(Refusal::RunLimit) => Renewal::RunLimit,
            Err(_) if stored.job.has_applied(&renew) => Renewal::Done,
            Err(_) => {
                self.take_back_crash(token, stored, now);
                Renewal::Lost
            }
        }
    }

    fn take_back_crash(&self, token: &LeaseToken, stored: &mut StoredJob, now: Timestamp) {
        let proof = Command::ProveAlive { epoch: token.epoch };
        // Refused: it was no crash that ended the lease.
        if let Ok((proven, _)) = self.step(stored, proof, now, Detail::default()) {
            *stored = proven;
            tracing::info!(job_id = %token.job_id, epoch = token.epoch.0, "a lease was lost by a late process, not by a crash");
        }
    }
}

/// The claims on one job: by the run that has it, and for a moment also by one that has lost it and does not know yet.
fn of_job<'a>(tokens: &'a [LeaseToken], job: &JobId) -> impl Iterator<Item = &'a LeaseToken> {
    tokens.iter().filter(move |token| token.job_id == *job)
}

/// An unreadable row costs its own lease, never the others of the process.
fn readable(row: JobRow) -> Option<StoredJob> {
    let job_id = row.job_id.clone();
    StoredJob::try_from(row)
        .inspect_err(|_| tracing::error!(job_id, "a job cannot be read; its lease is not renewed"))
        .ok()
}

/// What a lease is worth as it stands.
fn standing(token: &LeaseToken, stored: &StoredJob) -> Renewal {
    match &stored.job.state {
        State::Leased(lease) if lease.epoch == token.epoch => Renewal::Renewed { until: lease.expires_at },
        _ if stored.job.has_applied(&Command::Renew { epoch: token.epoch }) => Renewal::Done,
        _ => Renewal::Lost,
    }
}
