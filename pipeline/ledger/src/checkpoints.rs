//! What a stage paid for, kept under the fence of its run.

use crate::{
    Ledger,
    error::{Doing, Error},
    take::Holding,
};

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
        holding: &Holding,
        key: &CheckpointKey,
    ) -> Result<Option<serde_json::Value>, Error> {
        sqlx::query_scalar(
            "select output from stage_checkpoints \
             where user_id = $1 and job_id = $2 and stage = $3 and version = $4 and digest = $5",
        )
        .bind(holding.user_id.as_str())
        .bind(holding.job_id.as_str())
        .bind(key.stage)
        .bind(i32::from(key.version))
        .bind(key.digest.as_slice())
        .fetch_optional(&self.pool)
        .await
        .doing("recalling a checkpoint")
    }

    /// Records an output, only while `holding` is the newest claim and leased. `false`: the lease is lost, nothing was
    /// written. On a conflict the first record stands.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn record(
        &self,
        holding: &Holding,
        key: &CheckpointKey,
        output: &serde_json::Value,
    ) -> Result<bool, Error> {
        let (mut transaction, _) = self.begin("recording a checkpoint").await?;
        let fenced: i64 = sqlx::query_scalar(
            "with fence as (select user_id, job_id from finalization_jobs \
                 where user_id = $1 and job_id = $2 and status = 'leased' and epoch = $3 for share), \
             kept as (insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
                 select user_id, job_id, $4, $5, $6, $7, $3 from fence on conflict do nothing) \
             select count(*) from fence",
        )
        .bind(holding.user_id.as_str())
        .bind(holding.job_id.as_str())
        .bind(holding.epoch.0)
        .bind(key.stage)
        .bind(i32::from(key.version))
        .bind(key.digest.as_slice())
        .bind(output)
        .fetch_one(&mut *transaction)
        .await
        .doing("recording a checkpoint")?;
        transaction.commit().await.doing("recording a checkpoint")?;
        Ok(fenced > 0)
    }
}
