//! Taking bells, deciding, and storing the claims: at once for as many jobs as there are free slots.

use std::time::Duration;

use job::{Epoch, Job, JobId, Queue, Refusal, State, Timestamp, WorkerId};
use records::{ConversationId, UserId};

use sqlx::PgConnection;
use trace::TraceContext;

use crate::{
    Ledger,
    effects::Written,
    error::{Doing, Error},
    row::Stored,
};

mod at_sight;
mod bells;
mod heads;
mod inline;
mod one;
mod one_by_one;
mod passed_by;
mod renew;
mod waiting;

pub(crate) use {heads::Heads, passed_by::PassedBy};

/// A job that this process may run now.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// Whose.
    pub user_id: UserId,
    /// Which conversation.
    pub conversation_id: ConversationId,
    /// Which revision of it.
    pub revision: i64,
    /// The job as stored, `State::Leased`.
    pub job: Job,
    /// Where its trace goes on: what completion writes to be told names this.
    pub trace: Option<TraceContext>,
}

/// What a take found: the claims, and how every delivery was answered.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// To be run.
    pub claims: Vec<Claimed>,
    /// An answer per bell (`listen_finalization_deliveries_total{answer}`): claimed, leased, not_yet, completed,
    /// stale_generation, unknown_generation, missing, dead_letter, blocked_byok, error.
    pub answers: Vec<&'static str>,
    /// Dead letters made by claims that hit the crash limit.
    pub dead_letters: u32,
    /// Retries counted.
    pub retries: u32,
    /// How long there is nothing to take unless somebody rings, where the take has seen that; a second at most, when looks are
    /// to begin at the front again.
    pub quiet_for: Option<Duration>,
}

/// A lease that this process holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holding {
    /// Whose job.
    pub user_id: UserId,
    /// Which.
    pub job_id: JobId,
    /// The claim.
    pub epoch: Epoch,
}

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Later `expires_at`.
    Renewed {
        /// When the lease now ends.
        until: Timestamp,
    },
    /// The claim's own completion is committed: the run is about to hear of it itself.
    Done,
    /// Somebody else has the job, or it is at rest: stop the run, write nothing more.
    Lost,
    /// The run limit is over: say `Fail(run_timeout)`.
    RunLimit,
}

impl Ledger {
    /// Takes at most `slots` due bells of `queue` (in `inline` mode: due `Queued` rows), decides each and stores
    /// the claims under `worker`. An unreadable job's bell is put off by itself; the rest goes on. No answer
    /// is waited for longer than by [`in_time`](Self::in_time); one that does not come takes no earlier claim along.
    ///
    /// # Errors
    /// When the database does not answer; nothing was then taken.
    pub async fn take(&self, queue: Queue, worker: &WorkerId, slots: u32) -> Result<Taken, Error> {
        if let Some(taken) = self.in_time(self.take_at_sight(queue, worker, slots)).await? {
            return Ok(taken);
        }
        let taken = match self.in_time(self.take_at_once(queue, worker, slots, &mut None)).await {
            Err(Error::Refused { .. } | Error::Contended { .. }) => {
                return self.take_one_by_one(queue, worker, slots).await;
            }
            other => other?,
        };
        self.heads.crowd(queue, taken.answers.len() >= slots as usize);
        Ok(taken)
    }
}

impl Taken {
    /// What one more take found.
    fn add(&mut self, more: Self) {
        self.claims.extend(more.claims);
        self.answers.extend(more.answers);
        self.dead_letters += more.dead_letters;
        self.retries += more.retries;
    }

    /// Sorts what a granted claim became: a run, or the dead letter of its crash limit.
    fn granted(&mut self, written: Written) {
        self.retries += u32::from(written.counts(job::Effect::CountRetry));
        self.dead_letters += u32::from(written.counts(job::Effect::CountDeadLetter));
        if let State::Leased(_) = written.stored.job.state {
            self.answers.push("claimed");
            self.claims.push(Claimed::from(written.stored));
        } else {
            self.answers.push("dead_letter");
        }
    }
}

impl From<Stored> for Claimed {
    fn from(stored: Stored) -> Self {
        Self {
            user_id: stored.user_id,
            conversation_id: stored.conversation_id,
            revision: stored.revision,
            job: stored.job,
            trace: stored.trace,
        }
    }
}

impl Claimed {
    /// The lease that this claim holds.
    pub fn holding(&self) -> Holding {
        Holding { user_id: self.user_id.clone(), job_id: self.job.id.clone(), epoch: self.job.epoch }
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

/// Puts an unreadable row off by itself, so that it poisons no page: the columns are moved, whatever they mean. One that is
/// due no more was claimed meanwhile, and its lease says when to look.
pub(crate) async fn put_off(connection: &mut PgConnection, user: &str, job: &str) -> Result<(), Error> {
    sqlx::query(
        "update finalization_jobs set version = version + 1, \
             ready_at = case when status = 'queued' then clock_timestamp() + interval '5 minutes' end, \
             reconcile_after_at = clock_timestamp() + interval '5 minutes' \
         where user_id = $1 and job_id = $2 and (reconcile_after_at <= statement_timestamp() \
             or (status = 'queued' and ready_at <= statement_timestamp()))",
    )
    .bind(user)
    .bind(job)
    .execute(connection)
    .await
    .doing("putting a job off")
    .map(drop)
}
