//! Goals and their history.

use records::Goal as Record;

use super::{Time, words::GoalType};

shape! {
    /// A goal.
    // DECISIONS §1, "goal".
    pub goal(goal: &Record) -> Goal {
        /// Its id, `goal_…`.
        id: String = goal.id.as_str().to_owned(), "goal_01993b24-62a0-7f65-80a8-3051a2b34567";
        /// What it is, 1–500 characters.
        title: String = goal.title.clone(), "Read a book a month";
        /// The kind of goal.
        #[schemars(with = "GoalType")]
        goal_type: &'static str = goal.goal_type.as_str(), "numeric";
        /// The target.
        target_value: f64 = goal.target_value, 12.0;
        /// The current value.
        current_value: f64 = goal.current_value, 3.0;
        /// The lower end of the scale.
        min_value: f64 = goal.min_value, 0.0;
        /// The upper end of the scale.
        max_value: f64 = goal.max_value, 10.0;
        /// The unit.
        unit: Option<String> = goal.unit.clone(), "books";
        /// At most three goals of a user are active.
        is_active: bool = goal.is_active, true;
        /// When it was made.
        created_at: Time = goal.created_at.into(), "2026-11-21T09:00:00Z";
        /// When it last changed.
        updated_at: Time = goal.updated_at.into(), "2026-11-21T09:00:00Z";
    }
}

shape! {
    /// The goal's value on a day.
    // DECISIONS §3, "goals".
    pub goal_point(point: &store::GoalPoint) -> GoalPoint {
        /// The UTC day.
        #[schemars(extend("format" = "date"))]
        date: String = point.day.to_string(), "2026-11-21";
        /// The last value of that day.
        value: f64 = point.value, 3.0;
        /// When it was set.
        recorded_at: Time = point.recorded_at.into(), "2026-11-21T09:00:00Z";
    }
}
