//! A goal's row, read into `records::Goal`.

use db::{Doing, Error};
use records::{Goal, GoalId, Timestamp, UserId};
use sqlx::PgConnection;

/// What [`GoalRow`] reads.
macro_rules! goal_columns {
    () => {
        "goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit, is_active, created_at, \
         updated_at"
    };
}
pub(super) use goal_columns;

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
    let row: Option<GoalRow> = sqlx::query_as(concat!(
        "select ",
        goal_columns!(),
        " from goals where user_id = $1 and goal_id = $2 for update"
    ))
    .bind(user.as_str())
    .bind(goal.as_str())
    .fetch_optional(connection)
    .await
    .doing("locking a goal")?;
    row.map(Goal::try_from).transpose()
}

impl TryFrom<GoalRow> for Goal {
    type Error = Error;

    fn try_from(row: GoalRow) -> Result<Self, Error> {
        let wrong = |_| Error::ImpossibleRow { table: "goals", id: row.goal_id.clone(), column: "goal_type" };
        Ok(Self {
            goal_type: row.goal_type.parse().map_err(wrong)?,
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
