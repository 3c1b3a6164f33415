//! What runs spent at model servers: counts by run and stage, written under the run's fence. Never a person's words.

use db::{Doing, Error};
use records::UserId;
use sqlx::{PgConnection, Postgres, postgres::PgArguments, query::QueryScalar};

use crate::{LeaseToken, Ledger};

/// What one stage of one run has spent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Spent {
    /// The claim of the run. What is written takes the epoch of its lease.
    pub epoch: i64,
    /// The stage.
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
    /// Writes what a run has spent, only while its claim is the newest and leased; `false`: it is not. For what
    /// no checkpoint carries, because the stage failed. Counts of a run never go down, so a repeat changes nothing.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn spend(&self, token: &LeaseToken, spent: &[Spent]) -> Result<bool, Error> {
        const DOING: &str = "writing what a run spent";
        let (mut transaction, _) = self.db.begin(DOING).await?;
        let statement = sqlx::query_scalar(SPEND)
            .bind(token.user_id.as_str())
            .bind(token.job_id.as_str())
            .bind(token.epoch.0);
        let fenced: i64 = bind_spent(statement, spent).fetch_one(&mut *transaction).await.doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(fenced > 0)
    }
}

/// Binds the columns of `spent` as arrays, in the order in which the statements read them.
pub(crate) fn bind_spent<'q>(
    statement: QueryScalar<'q, Postgres, i64, PgArguments>,
    spent: &[Spent],
) -> QueryScalar<'q, Postgres, i64, PgArguments> {
    let numbers = |count: fn(&Spent) -> i64| -> Vec<i64> { spent.iter().map(count).collect() };
    let texts =
        |text: fn(&Spent) -> &String| -> Vec<String> { spent.iter().map(|one| text(one).clone()).collect() };
    statement
        .bind(texts(|one| &one.stage))
        .bind(texts(|one| &one.engine))
        .bind(numbers(|one| one.calls))
        .bind(numbers(|one| one.prompt_tokens))
        .bind(numbers(|one| one.cached_tokens))
        .bind(numbers(|one| one.completion_tokens))
}

/// What the job's runs spent, in the order of runs.
pub async fn spent_by(
    connection: &mut PgConnection,
    user: &UserId,
    job: &job::JobId,
) -> Result<Vec<Spent>, sqlx::Error> {
    sqlx::query_as(
        "select epoch, stage, engine, calls, prompt_tokens, cached_tokens, completion_tokens from engine_usage \
         where user_id = $1 and job_id = $2 order by epoch, stage",
    )
    .bind(user.as_str())
    .bind(job.as_str())
    .fetch_all(connection)
    .await
}

const SPEND: &str = include_str!("../sql/checkpoints/spend.sql");
