//! A goal's row, read into `records::Goal`.

use records::{Goal, GoalId, Timestamp};

use crate::error::Error;

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
