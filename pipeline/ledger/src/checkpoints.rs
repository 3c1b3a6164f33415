//! What a stage paid for, kept under the fence of its run.

use db::{Doing, Error};

use crate::{LeaseToken, Ledger, Spent, usage::bind_spent};

/// Under which a stage's output is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointKey {
    /// The stage's name.
    pub stage: &'static str,
    /// The shape of its output.
    pub version: u16,
    /// SHA-256 of what the revision fixes, of the engine's id and prompt version.
    pub digest: [u8; 32],
}

impl Ledger {
    /// The output that an earlier run of this job recorded under `key`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn recall(
        &self,
        token: &LeaseToken,
        key: &CheckpointKey,
    ) -> Result<Option<serde_json::Value>, Error> {
        sqlx::query_scalar(
            "select output from stage_checkpoints \
             where user_id = $1 and job_id = $2 and stage = $3 and version = $4 and digest = $5",
        )
        .bind(token.user_id.as_str())
        .bind(token.job_id.as_str())
        .bind(key.stage)
        .bind(i32::from(key.version))
        .bind(key.digest.as_slice())
        .fetch_optional(self.db.pool())
        .await
        .doing("recalling a checkpoint")
    }

    /// Records an output, only while the caller's claim is the newest and leased. `false`: the lease is lost, nothing was
    /// written. On a conflict the first record stands. `spent` is what the run has spent so far: it is written with it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn record(
        &self,
        token: &LeaseToken,
        key: &CheckpointKey,
        output: &serde_json::Value,
        spent: &[Spent],
    ) -> Result<bool, Error> {
        self.write_checkpoint(SAVE, token, key, output, spent).await
    }

    /// Records an output over one that was recalled and could not be read, under the same fence: the next run would
    /// pay for it once more; with what the run has `spent`. `false`: the lease is lost, nothing was written.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn record_anew(
        &self,
        token: &LeaseToken,
        key: &CheckpointKey,
        output: &serde_json::Value,
        spent: &[Spent],
    ) -> Result<bool, Error> {
        self.write_checkpoint(OVERWRITE, token, key, output, spent).await
    }

    async fn write_checkpoint(
        &self,
        statement: &'static str,
        token: &LeaseToken,
        key: &CheckpointKey,
        output: &serde_json::Value,
        spent: &[Spent],
    ) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin("recording a checkpoint").await?;
        let statement = sqlx::query_scalar(statement)
            .bind(token.user_id.as_str())
            .bind(token.job_id.as_str())
            .bind(token.epoch.0)
            .bind(key.stage)
            .bind(i32::from(key.version))
            .bind(key.digest.as_slice())
            .bind(output);
        let fenced: i64 = bind_spent(statement, spent)
            .fetch_one(&mut *transaction)
            .await
            .doing("recording a checkpoint")?;
        transaction.commit().await.doing("recording a checkpoint")?;
        Ok(fenced > 0)
    }
}

const SAVE: &str = include_str!("../sql/checkpoints/save.sql");
const OVERWRITE: &str = include_str!("../sql/checkpoints/overwrite.sql");
