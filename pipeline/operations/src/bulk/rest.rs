//! What became of replayed jobs: recorded by each step of the operation, and periodically when no process works on it.

use db::{Doing, Error};
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

impl Operations {
    /// Notes which replayed jobs have come to rest, whatever the status of their operations: jobs go on when those are
    /// paused or cancelled, and no step is made then. With `parked` also where all that is left waits for its users'
    /// keys, which may take days. A locked operation is skipped until the next time.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn follow_replays(&self, parked: bool) -> Result<(), Error> {
        const DOING: &str = "following replays";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let followed: Vec<String> = sqlx::query_scalar(
            "select operation_id from replay_operations \
             where completed + died_again + case when $1 then 0 else parked end < replayed for update skip locked",
        )
        .bind(parked)
        .fetch_all(&mut *transaction)
        .await
        .doing(DOING)?;
        for operation in &followed {
            come_to_rest(&mut transaction, operation, now).await.doing(DOING)?;
        }
        transaction.commit().await.doing(DOING)
    }
}

/// Notes which replayed jobs of an operation, whose row the caller holds, are at rest, or parked until their persons bring
/// keys, and answers how many are not; parked ones that were given keys since are followed to their rest, too. A job that was pruned had completed.
pub(super) async fn come_to_rest(
    connection: &mut PgConnection,
    operation: &str,
    now: Timestamp,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "with followed as (select i.position, i.status as was, coalesce(j.status, 'completed') as status, j.dead_code \
                 from replay_items i left join finalization_jobs j using (user_id, job_id) \
                 where i.operation_id = $1 and i.status in ('replayed', 'parked')), \
             rested as (update replay_items i set changed_at = $2, result = f.dead_code, \
                     status = case f.status when 'completed' then 'completed' \
                         when 'dead_letter' then 'died_again' else 'parked' end \
                 from followed f where i.operation_id = $1 and i.position = f.position \
                     and f.status not in ('queued', 'leased') and (f.was, f.status) <> ('parked', 'blocked_byok') \
                 returning i.status, f.was), \
             counted as (update replay_operations set updated_at = $2, \
                     completed = completed + (select count(*) from rested where status = 'completed'), \
                     died_again = died_again + (select count(*) from rested where status = 'died_again'), \
                     parked = parked + (select count(*) from rested where status = 'parked') \
                         - (select count(*) from rested where was = 'parked') \
                 where operation_id = $1 and exists (select from rested)) \
         select count(*) from followed where was = 'replayed' and status in ('queued', 'leased')",
    )
    .bind(operation)
    .bind(now)
    .fetch_one(connection)
    .await
}
