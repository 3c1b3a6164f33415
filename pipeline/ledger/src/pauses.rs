//! Whether operators let a queue be claimed from.

use db::{Doing, Error};
use job::Queue;
use sqlx::PgConnection;

/// Whether `queue` is paused, as a claim asks that names its job.
pub(crate) async fn is_paused(connection: &mut PgConnection, queue: Queue) -> Result<bool, Error> {
    sqlx::query_scalar("select exists (select from queue_pauses where queue = $1)")
        .bind(queue.as_str())
        .fetch_one(connection)
        .await
        .doing("asking whether a queue is paused")
}
