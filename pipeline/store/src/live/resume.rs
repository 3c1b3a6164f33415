//! What a live session brings its user's keys for: the jobs that wait for them.

use db::Error;
use job::JobId;
use records::UserId;

use crate::Store;

impl Store {
    /// The user's jobs that are parked until the user brings keys, oldest first, at most `limit`.
    pub async fn parked_jobs(&self, user: &UserId, limit: i64) -> Result<Vec<JobId>, Error> {
        let jobs: Vec<String> = sqlx::query_scalar(include_str!("../../sql/live/parked_jobs.sql"))
            .bind(user.as_str())
            .bind(limit)
            .fetch_all(self.db.pool())
            .await?;
        Ok(jobs.into_iter().map(JobId::from_text).collect())
    }
}
