//! The numbers of a goal: which of them a request may not send, and how a refusal of the ledger is answered.

use records::{GoalFault, GoalType, Measure};
use serde_json::Value;
use store::{GoalChange, GoalRefusal};

use crate::{
    Error, Problem,
    read::{Fields, Float, Report, Take},
};

pub(super) const KIND: &str = "Goal";

/// Any finite number.
pub(super) const NUMBER: Float = Float::between(f64::MIN, f64::MAX);
/// What `max_value` is of a scale unless said otherwise. Clients that are generated from a document with this default
/// send it along with every goal: of a boolean one it stands for 1.
pub(super) const HIGH_END: f64 = 10.0;

/// One number of a goal of which the type is known, as far as it was sent.
pub(super) struct Figure {
    goal_type: Option<GoalType>,
    part: fn(f64) -> Measure,
}

impl Figure {
    /// Where it is reached.
    pub(super) fn target(goal_type: Option<GoalType>) -> Self {
        Self { goal_type, part: |value| Measure { target_value: Some(value), ..Measure::default() } }
    }

    /// Where it stands.
    pub(super) fn current(goal_type: Option<GoalType>) -> Self {
        Self { goal_type, part: |value| Measure { current_value: Some(value), ..Measure::default() } }
    }

    /// The low end.
    pub(super) fn min(goal_type: Option<GoalType>) -> Self {
        Self { goal_type, part: |value| Measure { min_value: Some(value), ..Measure::default() } }
    }

    /// The high end.
    pub(super) fn max(goal_type: Option<GoalType>) -> Self {
        Self { goal_type, part: |value| Measure { max_value: Some(value), ..Measure::default() } }
    }

    /// The high end of a goal that is made: the default may be sent along.
    pub(super) fn max_of_new(goal_type: Option<GoalType>) -> Self {
        let part = |value| match value == HIGH_END {
            true => Measure::default(),
            false => Measure { max_value: Some(value), ..Measure::default() },
        };
        Self { goal_type, part }
    }
}

impl Take for Figure {
    type Out = f64;

    fn take(&self, value: &Value, report: &mut Report) -> Option<f64> {
        let number = NUMBER.take(value, report)?;
        let known = Measure { goal_type: self.goal_type, ..(self.part)(number) };
        match known.faults().first() {
            Some(fault) => report.rule(rule_of(*fault)),
            None => Some(number),
        }
    }

    fn schema(&self) -> Value {
        NUMBER.schema()
    }
}

/// Both ends, when both are sent: a rule between fields, asked when nothing else is wrong.
pub(super) fn ends_in_order(
    fields: &mut Fields<'_>,
    min_value: Option<f64>,
    max_value: Option<f64>,
) -> Option<()> {
    let ends = Measure { min_value, max_value, ..Measure::default() };
    match fields.report.is_clean() && ends.faults().contains(&GoalFault::Ends) {
        true => fields.report.rule(rule_of(GoalFault::Ends)),
        false => Some(()),
    }
}

/// The error of a refused PATCH: at the field that was sent, or at the type that makes a stored number wrong.
pub(super) fn refused_change(refusal: GoalRefusal, change: &GoalChange) -> Error {
    refused(refusal, |fault| {
        let (field, sent) = match fault {
            GoalFault::Target => ("target_value", change.target_value.is_some()),
            GoalFault::Current => ("current_value", false),
            GoalFault::Min => ("min_value", change.min_value.is_some()),
            GoalFault::Max => ("max_value", change.max_value.is_some()),
            GoalFault::Ends => return Problem::rule(vec!["body".into()], rule_of(fault)),
        };
        Problem::rule(vec!["body".into(), if sent { field } else { "goal_type" }.into()], rule_of(fault))
    })
}

/// The error of a refused progress, at the part of the request in which it was sent: `query` or `body`.
pub(super) fn refused_progress(refusal: GoalRefusal, part: &'static str) -> Error {
    refused(refusal, |fault| Problem::rule(vec![part.into(), "current_value".into()], rule_of(fault)))
}

fn refused(refusal: GoalRefusal, problem: impl Fn(GoalFault) -> Problem) -> Error {
    match refusal {
        GoalRefusal::NoGoal => Error::NotFound(KIND),
        GoalRefusal::Wrong(faults) => Error::Invalid(faults.into_iter().map(problem).collect()),
    }
}

const fn rule_of(fault: GoalFault) -> &'static str {
    match fault {
        GoalFault::Target => "target_value of a boolean goal must be 0 or 1",
        GoalFault::Current => "current_value of a boolean goal must be 0 or 1",
        GoalFault::Min => "min_value of a boolean goal must be 0",
        GoalFault::Max => "max_value of a boolean goal must be 1",
        GoalFault::Ends => "min_value must not exceed max_value",
    }
}
