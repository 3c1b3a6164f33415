//! Goals and their history.

use records::Goal;
use serde_json::{Value, json};
use store::GoalPoint;

use super::moment;

/// A goal (DECISIONS §1, "goal").
pub fn goal(goal: &Goal) -> Value {
    json!({
        "id": goal.id.as_str(),
        "title": goal.title,
        "goal_type": goal.goal_type.as_str(),
        "target_value": goal.target_value,
        "current_value": goal.current_value,
        "min_value": goal.min_value,
        "max_value": goal.max_value,
        "unit": goal.unit,
        "is_active": goal.is_active,
        "created_at": moment(goal.created_at),
        "updated_at": moment(goal.updated_at),
    })
}

/// Where a goal stood on a UTC day (DECISIONS §3, "goals").
pub fn goal_point(point: &GoalPoint) -> Value {
    json!({
        "date": point.day.to_string(),
        "value": point.value,
        "recorded_at": moment(point.recorded_at),
    })
}
