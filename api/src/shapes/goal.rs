//! Goals and their history.

use records::Goal as Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Time, words::GoalType};
use crate::shapes::Shape;

/// A goal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Goal {
    /// Its id, `goal_…`.
    id: String,
    /// What it is, 1–500 characters.
    title: String,
    /// The kind of goal.
    #[schemars(with = "GoalType")]
    goal_type: &'static str,
    /// The target.
    target_value: f64,
    /// The current value.
    current_value: f64,
    /// The lower end of the scale.
    min_value: f64,
    /// The upper end of the scale.
    max_value: f64,
    /// The unit.
    unit: Option<String>,
    /// At most three goals of a user are active.
    is_active: bool,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
}

impl Shape for Goal {
    fn example() -> Value {
        json!({
            "id": "goal_01993b24-62a0-7f65-80a8-3051a2b34567",
            "title": "Read a book a month",
            "goal_type": "numeric",
            "target_value": 12.0,
            "current_value": 3.0,
            "min_value": 0.0,
            "max_value": 10.0,
            "unit": "books",
            "is_active": true,
            "created_at": "2026-11-21T09:00:00Z",
            "updated_at": "2026-11-21T09:00:00Z",
        })
    }
}

/// A goal (DECISIONS §1, "goal").
pub fn goal(goal: &Record) -> Goal {
    Goal {
        id: goal.id.as_str().to_owned(),
        title: goal.title.clone(),
        goal_type: goal.goal_type.as_str(),
        target_value: goal.target_value,
        current_value: goal.current_value,
        min_value: goal.min_value,
        max_value: goal.max_value,
        unit: goal.unit.clone(),
        is_active: goal.is_active,
        created_at: goal.created_at.into(),
        updated_at: goal.updated_at.into(),
    }
}

/// The goal's value on a day.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GoalPoint {
    /// The UTC day.
    #[schemars(extend("format" = "date"))]
    date: String,
    /// The last value of that day.
    value: f64,
    /// When it was set.
    recorded_at: Time,
}

impl Shape for GoalPoint {
    fn example() -> Value {
        json!({ "date": "2026-11-21", "value": 3.0, "recorded_at": "2026-11-21T09:00:00Z" })
    }
}

/// Where a goal stood on a UTC day (DECISIONS §3, "goals").
pub fn goal_point(point: &store::GoalPoint) -> GoalPoint {
    GoalPoint { date: point.day.to_string(), value: point.value, recorded_at: point.recorded_at.into() }
}
