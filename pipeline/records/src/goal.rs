//! Goals: what a person aims at, and how far the person has come.

use crate::{
    GoalId, Timestamp,
    conversation::{UnknownName, named},
};

named! {
    /// How a goal is measured (spec, "Goal"); boolean goals use 0 and 1.
    GoalType { Boolean = "boolean", Scale = "scale", Numeric = "numeric" }
}

/// Something that a person aims at (DECISIONS §1, "goal").
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Its id, `goal_…`.
    pub id: GoalId,
    /// 1–500 characters.
    pub title: String,
    /// How it is measured.
    pub goal_type: GoalType,
    /// Where it is reached.
    pub target_value: f64,
    /// Where it stands.
    pub current_value: f64,
    /// The low end of its scale.
    pub min_value: f64,
    /// The high end of its scale.
    pub max_value: f64,
    /// What is counted.
    pub unit: Option<String>,
    /// At most three of a person's goals are active.
    pub is_active: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
