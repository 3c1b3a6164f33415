//! What a live session brings its user's keys for: the jobs that wait for them.

use db::{Doing, Error};
use job::JobId;
use records::UserId;

use crate::Store;

impl Store {
    /// The user's jobs that are parked until the user brings keys, oldest first, at most `limit`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn parked_jobs(&self, user: &UserId, limit: i64) -> Result<Vec<JobId>, Error> {
        let jobs: Vec<String> = sqlx::query_scalar(
            "select job_id from finalization_jobs where user_id = $1 and status = 'blocked_byok' \
             order by created_at, job_id limit $2",
        )
        .bind(user.as_str())
        .bind(limit)
        .fetch_all(self.db.pool())
        .await
        .doing("reading parked jobs")?;
        Ok(jobs.into_iter().map(JobId::from_text).collect())
    }
}
