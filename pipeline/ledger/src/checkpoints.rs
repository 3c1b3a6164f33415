//! What a stage paid for, and what was spent on it, kept under the fence of its run. Never a person's words.

use db::{Error, query_as, query_scalar};
use job::{CheckpointKey, JobId};
use records::UserId;
use sqlx::PgConnection;

use crate::{LeaseToken, Ledger};

/// What one stage of one run has spent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Spent {
    /// The claim of the run. What is written takes the epoch of its lease.
    pub epoch: i64,
    pub stage: String,
    /// The engine's id, with its model and the version of its prompts.
    pub engine: String,
    /// Calls that reached the server, refused ones and repeated ones among them.
    pub calls: i64,
    /// Tokens of what was sent.
    pub prompt_tokens: i64,
    /// Those of them that the server had in its cache.
    pub cached_tokens: i64,
    /// Tokens of what was answered.
    pub completion_tokens: i64,
}

impl Ledger {
    /// The output that an earlier run of this job recorded under `key`.
    pub async fn recall(
        &self,
        token: &LeaseToken,
        key: &CheckpointKey,
    ) -> Result<Option<serde_json::Value>, Error> {
        Ok(query_scalar!(
            "checkpoints/read.sql",
            &token.user_id,
            token.job_id.as_str(),
            key.stage,
            i32::from(key.version),
            key.digest.as_slice()
        )
        .fetch_optional(self.db.pool())
        .await?)
    }

    /// Records an output, only while the caller's claim is the newest and leased. `false`: the lease is lost, nothing was
    /// written. On a conflict the first record stands, unless the new one `replaces` what could not be read: the next run
    /// would pay for it once more. `spent` is what the run has spent so far: it is written with it.
    pub async fn record(
        &self,
        token: &LeaseToken,
        key: &CheckpointKey,
        output: &serde_json::Value,
        replaces: bool,
        spent: &[Spent],
    ) -> Result<bool, Error> {
        self.write_fenced(token, Some(Kept { key, output, replaces }), spent).await
    }

    /// Writes what a run has spent, only while its claim is the newest and leased; `false`: it is not. For what
    /// no checkpoint carries, because the stage failed. Counts of a run never go down, so a repeat changes nothing.
    pub async fn spend(&self, token: &LeaseToken, spent: &[Spent]) -> Result<bool, Error> {
        self.write_fenced(token, None, spent).await
    }

    async fn write_fenced(
        &self,
        token: &LeaseToken,
        kept: Option<Kept<'_>>,
        spent: &[Spent],
    ) -> Result<bool, Error> {
        let numbers = |count: fn(&Spent) -> i64| -> Vec<i64> { spent.iter().map(count).collect() };
        let texts = |text: fn(&Spent) -> &str| -> Vec<&str> { spent.iter().map(text).collect() };
        let fenced: i64 = query_scalar!(
            "checkpoints/write.sql",
            &token.user_id,
            token.job_id.as_str(),
            token.epoch.0,
            kept.as_ref().map(|kept| kept.key.stage),
            kept.as_ref().map(|kept| i32::from(kept.key.version)),
            kept.as_ref().map(|kept| kept.key.digest.as_slice()),
            kept.as_ref().map(|kept| kept.output),
            kept.as_ref().is_some_and(|kept| kept.replaces),
            texts(|one| &one.stage),
            texts(|one| &one.engine),
            numbers(|one| one.calls),
            numbers(|one| one.prompt_tokens),
            numbers(|one| one.cached_tokens),
            numbers(|one| one.completion_tokens)
        )
        .fetch_one(self.db.pool())
        .await?;
        Ok(fenced > 0)
    }
}

struct Kept<'a> {
    key: &'a CheckpointKey,
    output: &'a serde_json::Value,
    /// The one that is there.
    replaces: bool,
}

/// What the job's runs spent, in the order of runs.
pub async fn spent_by(
    connection: &mut PgConnection,
    user: &UserId,
    job: &JobId,
) -> Result<Vec<Spent>, sqlx::Error> {
    query_as!("jobs/usage.sql", user, job.as_str()).fetch_all(connection).await
}
