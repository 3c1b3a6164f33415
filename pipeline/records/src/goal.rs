//! Goals: what a person aims at, and how far the person has come.

use crate::{GoalId, Timestamp, named};

named! {
    /// How a goal is measured (spec, "Goal"); boolean goals use 0 and 1.
    GoalType { Boolean = "boolean", Scale = "scale", Numeric = "numeric" }
}

/// What is known of how a goal is measured: all of it of a goal that is there, some of it of a change that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// How it is measured.
    pub goal_type: Option<GoalType>,
    /// Where it is reached.
    pub target_value: Option<f64>,
    /// Where it stands.
    pub current_value: Option<f64>,
    /// The low end of its scale.
    pub min_value: Option<f64>,
    /// The high end of its scale.
    pub max_value: Option<f64>,
}

/// Which number of a goal cannot be what it is (DECISIONS §1, "goal").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalFault {
    /// The target of a boolean goal is neither 0 nor 1.
    Target,
    /// A boolean goal stands neither at 0 nor at 1.
    Current,
    /// The low end of a boolean goal is not 0.
    Min,
    /// The high end of a boolean goal is not 1.
    Max,
    /// The low end lies above the high end.
    Ends,
}

impl Measure {
    /// All that cannot be. What is not known is not judged; and a target or a value may lie beyond the ends, because
    /// clients that count send no ends.
    pub fn faults(&self) -> Vec<GoalFault> {
        let is_boolean = self.goal_type == Some(GoalType::Boolean);
        let strange = |value: Option<f64>, taken: &[f64]| {
            is_boolean && value.is_some_and(|value| !taken.contains(&value))
        };
        let crossed = matches!((self.min_value, self.max_value), (Some(min), Some(max)) if min > max);
        let judged = [
            (GoalFault::Target, strange(self.target_value, &[0.0, 1.0])),
            (GoalFault::Current, strange(self.current_value, &[0.0, 1.0])),
            (GoalFault::Min, strange(self.min_value, &[0.0])),
            (GoalFault::Max, strange(self.max_value, &[1.0])),
            (GoalFault::Ends, crossed),
        ];
        judged.into_iter().filter_map(|(fault, found)| found.then_some(fault)).collect()
    }
}

/// Something that a person aims at (DECISIONS §1, "goal").
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Goal {
    /// Its id, `goal_…`.
    #[sqlx(rename = "goal_id")]
    pub id: GoalId,
    /// 1–500 characters.
    pub title: String,
    /// How it is measured.
    #[sqlx(try_from = "String")]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(goal_type: GoalType, numbers: [f64; 4]) -> Measure {
        let [target, current, min, max] = numbers.map(Some);
        Measure {
            goal_type: Some(goal_type),
            target_value: target,
            current_value: current,
            min_value: min,
            max_value: max,
        }
    }

    #[test]
    fn boolean_goal_takes_0_and_1_only() {
        for numbers in [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, -0.0, -0.0, 1.0]] {
            assert_eq!(measure(GoalType::Boolean, numbers).faults(), []);
        }
        let all = [GoalFault::Target, GoalFault::Current, GoalFault::Min, GoalFault::Max];
        assert_eq!(measure(GoalType::Boolean, [2.0, 0.5, 1.0, 10.0]).faults(), all);
        assert_eq!(measure(GoalType::Scale, [2.0, 0.5, 1.0, 10.0]).faults(), []);
    }

    #[test]
    fn goal_scale_bounds_may_be_equal_not_reversed_and_values_may_exceed_them() {
        for goal_type in [GoalType::Scale, GoalType::Numeric] {
            assert_eq!(measure(goal_type, [123.0, -5.0, 3.0, 3.0]).faults(), []);
            assert_eq!(measure(goal_type, [5.0, 5.0, 3.0, 2.9]).faults(), [GoalFault::Ends]);
        }
    }

    #[test]
    fn goal_with_absent_measures_is_valid() {
        let target = Measure { target_value: Some(5.0), ..Measure::default() };
        assert_eq!(target.faults(), []);
        assert_eq!(Measure { goal_type: Some(GoalType::Boolean), ..target }.faults(), [GoalFault::Target]);
        assert_eq!(Measure { min_value: Some(11.0), ..Measure::default() }.faults(), []);
    }
}
