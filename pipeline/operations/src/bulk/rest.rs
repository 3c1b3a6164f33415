//! What became of replayed jobs: recorded by each step of the operation, and periodically when no process works on it.

use db::Error;
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

impl Operations {
    /// Notes which replayed jobs have come to rest, whatever the status of their operations: jobs go on when those are
    /// paused or cancelled, and no step is made then. With `parked` also where all that is left waits for its users'
    /// keys, which may take days. A locked operation is skipped until the next time.
    pub async fn follow_replays(&self, parked: bool) -> Result<(), Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let followed: Vec<String> = sqlx::query_scalar(include_str!("../../sql/replays/followed.sql"))
            .bind(parked)
            .fetch_all(&mut *transaction)
            .await?;
        for operation in &followed {
            come_to_rest(&mut transaction, operation, now).await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// Notes which replayed jobs of an operation, whose row the caller holds, are at rest, or parked until their persons bring
/// keys, and answers how many are not; parked ones that were given keys since are followed to their rest, too. A job that was pruned had completed.
pub(super) async fn come_to_rest(
    connection: &mut PgConnection,
    operation: &str,
    now: Timestamp,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(include_str!("../../sql/replays/follow.sql"))
        .bind(operation)
        .bind(now)
        .fetch_one(connection)
        .await
}
