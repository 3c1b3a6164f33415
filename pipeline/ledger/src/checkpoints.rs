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
        self.write_checkpoint(RECORD, holding, key, output).await
    }

    /// Records an output over one that was recalled and could not be read, under the same fence: the next run would
    /// pay for it once more. `false`: the lease is lost, nothing was written.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn record_anew(
        &self,
        holding: &Holding,
        key: &CheckpointKey,
        output: &serde_json::Value,
    ) -> Result<bool, Error> {
        self.write_checkpoint(RECORD_ANEW, holding, key, output).await
    }

    async fn write_checkpoint(
        &self,
        statement: &'static str,
        holding: &Holding,
        key: &CheckpointKey,
        output: &serde_json::Value,
    ) -> Result<bool, Error> {
        let (mut transaction, _) = self.begin("recording a checkpoint").await?;
        let fenced: i64 = sqlx::query_scalar(statement)
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

/// The fence, and behind it the row; what happens to one that is there already is said at the end.
macro_rules! fenced {
    ($conflict:literal) => {
        concat!(
            "with fence as (select user_id, job_id from finalization_jobs \
                 where user_id = $1 and job_id = $2 and status = 'leased' and epoch = $3 for share), \
             kept as (insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
                 select user_id, job_id, $4, $5, $6, $7, $3 from fence on conflict ",
            $conflict,
            ") select count(*) from fence"
        )
    };
}

const RECORD: &str = fenced!("do nothing");
const RECORD_ANEW: &str = fenced!(
    "on constraint stage_checkpoints_pkey do update set output = excluded.output, epoch = excluded.epoch"
);
