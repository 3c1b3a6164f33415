//! A goal's row, read into `records::Goal`.

use db::Error;
use records::{Goal, GoalId, GoalType, Timestamp, UserId};
use sqlx::PgConnection;

/// The columns as the table holds them.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(super) struct GoalRow {
    goal_id: String,
    title: String,
    goal_type: String,
    target_value: f64,
    current_value: f64,
    min_value: f64,
    max_value: f64,
    unit: Option<String>,
    is_active: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A person's goal as it stands; its row is locked until the transaction ends. `None`: no such goal.
pub(super) async fn locked(
    connection: &mut PgConnection,
    user: &UserId,
    goal: &GoalId,
) -> Result<Option<Goal>, Error> {
    let row: Option<GoalRow> = sqlx::query_as(include_str!("../../sql/goals/lock.sql"))
        .bind(user.as_str())
        .bind(goal.as_str())
        .fetch_optional(connection)
        .await?;
    row.map(Goal::try_from).transpose()
}

impl TryFrom<GoalRow> for Goal {
    type Error = Error;

    fn try_from(row: GoalRow) -> Result<Self, Error> {
        let wrong = || Error::ImpossibleRow { table: "goals", id: row.goal_id.clone(), column: "goal_type" };
        Ok(Self {
            goal_type: GoalType::from_name(&row.goal_type).ok_or_else(wrong)?,
            id: GoalId::new(row.goal_id),
            title: row.title,
            target_value: row.target_value,
            current_value: row.current_value,
            min_value: row.min_value,
            max_value: row.max_value,
            unit: row.unit,
            is_active: row.is_active,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
