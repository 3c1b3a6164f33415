//! The rule of three.

use db::Error;
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
    sqlx::query(include_str!("../../sql/goals/end_oldest.sql"))
        .bind(user.as_str())
        .bind(newest.as_str())
        .bind(now)
        .bind(OTHERS)
        .execute(connection)
        .await?;
    Ok(())
}
