//! The rule of three.

use db::{Doing, Error};
use records::{GoalId, Timestamp, UserId};
use sqlx::PgConnection;

/// How many goals besides the newest are active at most: three in all (spec, "Limits").
const OTHERS: i64 = 2;

/// Deactivates the oldest active ones, so that `newest` makes three at most. The caller holds the person's row.
pub(super) async fn make_room(
    connection: &mut PgConnection,
    user: &UserId,
    newest: &GoalId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "update goals set is_active = false, updated_at = $3 \
         where user_id = $1 and goal_id in ( \
             select goal_id from goals where user_id = $1 and is_active and goal_id <> $2 \
             order by created_at desc, goal_id desc offset $4)",
    )
    .bind(user.as_str())
    .bind(newest.as_str())
    .bind(now)
    .bind(OTHERS)
    .execute(connection)
    .await
    .doing("deactivating the oldest goal")
    .map(drop)
}
