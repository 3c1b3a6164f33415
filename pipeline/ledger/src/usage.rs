//! What runs spent at model servers: counts by run and stage, written under the run's fence. Never a person's words.

use records::UserId;
use sqlx::PgConnection;

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

/// What the job's runs spent, in the order of runs.
pub async fn spent_by(
    connection: &mut PgConnection,
    user: &UserId,
    job: &job::JobId,
) -> Result<Vec<Spent>, sqlx::Error> {
    sqlx::query_as(include_str!("../sql/jobs/usage.sql"))
        .bind(user.as_str())
        .bind(job.as_str())
        .fetch_all(connection)
        .await
}
