//! How a run ends that did not succeed: its job is released, failed or parked.

use chrono::Duration;
use db::Error;
use job::{Cause, Command, Epoch, FailureCode, JobId};
use records::UserId;

use crate::{LeaseToken, Ledger, claim::defer, effects::Answer, retry_conflicts, row};

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
        retry_conflicts!("settling a run", async {
            let (mut transaction, now) = self.db.begin().await?;
            let Some(read) = row::read(&mut transaction, &token.job_id).await? else {
                return Ok(Answer::Missing);
            };
            let command = transition.command(token.epoch);
            let answer = self.decide(&mut transaction, &read, command, cause, now).await?;
            self.commit(transaction, answer).await
        })
        .await
    }

    /// Defers a row that errors by five minutes, so that it stops no page.
    pub async fn defer(&self, user: &UserId, job: &JobId) -> Result<(), Error> {
        let mut connection = self.db.pool().acquire().await?;
        defer(&mut connection, user.as_str(), job.as_str()).await
    }
}
