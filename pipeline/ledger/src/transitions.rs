//! How a run ends that did not succeed: its job is released, failed or parked.

use chrono::Duration;
use db::Error;
use job::{Cause, Command, Effect, Epoch, FailureCode, JobId, Refusal, State};
use records::UserId;

use crate::{
    Ledger,
    claim::{LeaseToken, defer},
    effects::{Abort, Written},
    retry_conflicts, row,
};

/// What a holder says of its run when it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Given back unharmed, at once or later.
    Release {
        /// Zero for at once.
        delay: Duration,
    },
    Fail {
        code: FailureCode,
        /// A provider's Retry-After.
        retry_after: Option<Duration>,
        /// −200..=200.
        jitter_permille: i32,
    },
    /// The user's key was refused.
    Park,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Granted {
        /// Where the job stands now.
        state: State,
        /// Another run follows (`listen_finalization_retries_total`).
        retry: bool,
        /// It became a dead letter (`listen_finalization_dead_letter_total`).
        dead_letter: bool,
    },
    /// The domain says no.
    Refused(Refusal),
    Missing,
}

impl Transition {
    fn command(self, epoch: Epoch) -> Command {
        match self {
            Self::Release { delay } => Command::Release { epoch, delay },
            Self::Fail { code, retry_after, jitter_permille } => {
                Command::Fail { epoch, code, retry_after, jitter_permille }
            }
            Self::Park => Command::Park { epoch },
        }
    }
}

impl Answer {
    /// The answer that was lost on the way: its outcome was not counted yet. A release is no retry.
    fn applied_before(command: &Command, state: State) -> Self {
        let retry = matches!((command, &state), (Command::Fail { .. }, State::Queued { .. }));
        let dead_letter = matches!(state, State::DeadLetter { .. });
        Self::Granted { state, retry, dead_letter }
    }
}

impl From<&Written> for Answer {
    fn from(written: &Written) -> Self {
        Self::Granted {
            state: written.stored.job.state.clone(),
            retry: written.counts(Effect::CountRetry),
            dead_letter: written.counts(Effect::CountDeadLetter),
        }
    }
}

impl Ledger {
    /// Records how the run whose lease is `token` ended without success; `cause` is what lies behind it, for operators.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats the same call.
    pub async fn settle(
        &self,
        token: &LeaseToken,
        transition: Transition,
        cause: Option<&Cause>,
    ) -> Result<Answer, Error> {
        retry_conflicts!("settling a run", self.try_settle(token, transition, cause))
    }

    async fn try_settle(
        &self,
        token: &LeaseToken,
        transition: Transition,
        cause: Option<&Cause>,
    ) -> Result<Answer, Abort> {
        let command = transition.command(token.epoch);
        let (mut transaction, now) = self.db.begin().await?;
        let Some(stored) = row::read(&mut transaction, &token.job_id).await? else {
            return Ok(Answer::Missing);
        };
        let already = stored
            .job
            .has_applied(&command)
            .then(|| Answer::applied_before(&command, stored.job.state.clone()));
        Ok(match self.decide_and_commit(transaction, &stored, command, cause, now).await? {
            Ok(written) => Answer::from(&written),
            Err(refusal) => already.unwrap_or(Answer::Refused(refusal)),
        })
    }

    /// Defers a row that errors by five minutes, so that it stops no page.
    pub async fn defer(&self, user: &UserId, job: &JobId) -> Result<(), Error> {
        let mut connection = self.db.pool().acquire().await?;
        defer(&mut connection, user.as_str(), job.as_str()).await
    }
}
