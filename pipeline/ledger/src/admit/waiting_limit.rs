//! How many jobs of a user may wait: a finalize beyond the user's limit is refused.
//!
//! What is counted of a user's live jobs is of the moment of the count. Far from the limit that is close enough; near it, the
//! user's account is locked and the jobs are counted again, as every create does, so that of two at once the second sees
//! the first.

use std::collections::{BTreeSet, HashMap};

use db::Error;
use records::{Budget, OverBudget, UserId};
use sqlx::PgConnection;
use store::budgets::JOB_SECONDS;

/// More than the batches of all processes admit of one user at the same time.
const NEAR: i64 = 1_000;

/// How many more jobs of each user of a batch may wait.
pub(super) struct WaitingLimit(HashMap<String, Waiting>);

#[derive(sqlx::FromRow)]
struct Waiting {
    user_id: String,
    /// Jobs that wait or run, counted up to the limit.
    waiting: i64,
    /// Zero is no limit.
    most_waiting: i64,
}

impl WaitingLimit {
    /// Counts the waiting jobs of `users`; `most_waiting` is the limit of users without their own.
    pub(super) async fn of<'a>(
        connection: &mut PgConnection,
        users: impl Iterator<Item = &'a UserId>,
        most_waiting: i64,
    ) -> Result<Self, Error> {
        let users: BTreeSet<&str> = users.map(UserId::as_str).collect();
        let mut waiting = count(connection, &users, most_waiting).await?;
        let is_near = |user: &Waiting| user.most_waiting > 0 && user.waiting + NEAR > user.most_waiting;
        let near: BTreeSet<&str> =
            waiting.iter().filter(|user| is_near(user)).map(|user| user.user_id.as_str()).collect();
        if !near.is_empty() {
            lock_accounts(connection, &near).await?;
            waiting = count(connection, &users, most_waiting).await?;
        }
        Ok(Self(waiting.into_iter().map(|user| (user.user_id.clone(), user)).collect()))
    }

    /// Counts one more job of `user`, or refuses it.
    pub(super) fn take(&mut self, user: &UserId) -> Result<(), OverBudget> {
        let Some(user) = self.0.get_mut(user.as_str()) else { return Ok(()) };
        if user.most_waiting > 0 && user.waiting >= user.most_waiting {
            let limit = user.most_waiting;
            return Err(OverBudget { budget: Budget::WaitingJobs, limit, retry_after: Some(JOB_SECONDS) });
        }
        user.waiting += 1;
        Ok(())
    }
}

async fn count(
    connection: &mut PgConnection,
    users: &BTreeSet<&str>,
    most_waiting: i64,
) -> Result<Vec<Waiting>, Error> {
    Ok(sqlx::query_as(include_str!("../../sql/admission/waiting_jobs.sql"))
        .bind(users.iter().copied().collect::<Vec<_>>())
        .bind(most_waiting)
        .fetch_all(connection)
        .await?)
}

/// Locks the accounts of users, in the order of their ids.
async fn lock_accounts(connection: &mut PgConnection, users: &BTreeSet<&str>) -> Result<(), Error> {
    sqlx::query(include_str!("../../sql/admission/lock_accounts.sql"))
        .bind(users.iter().copied().collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}
