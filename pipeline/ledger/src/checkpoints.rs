//! What a stage paid for, kept under the fence of its run.

use db::{Doing, Error};

use crate::{
    LeaseToken, Ledger, Spent,
    usage::{bind_spent, fence, write_spent},
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
        self.write_checkpoint(RECORD, token, key, output, spent).await
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
        self.write_checkpoint(RECORD_ANEW, token, key, output, spent).await
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

/// The fence, and behind it the row and what was spent; what happens to a row that is there already is said in it.
macro_rules! fenced {
    ($conflict:literal) => {
        concat!(
            fence!(),
            "kept as (insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
                 select user_id, job_id, $4, $5, $6, $7, $3 from fence on conflict ",
            $conflict,
            "), ",
            write_spent!("$8", "$9", "$10", "$11", "$12", "$13"),
            "select count(*) from fence"
        )
    };
}

const RECORD: &str = fenced!("do nothing");
const RECORD_ANEW: &str = fenced!(
    "on constraint stage_checkpoints_pkey do update set output = excluded.output, epoch = excluded.epoch"
);
