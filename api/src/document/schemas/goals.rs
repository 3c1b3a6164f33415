//! Goals.

use records::GoalType;
use serde_json::{Value, json};

use super::{number, object, one_of, text, text_or_null, time, truth};

/// The schemas of `shapes/goal.rs`.
pub(super) fn schemas() -> Value {
    json!({ "Goal": goal(), "GoalPoint": point() })
}

fn goal() -> Value {
    object(
        "A goal.",
        json!({
            "id": text("Its id, `goal_…`."),
            "title": text("What it is, 1–500 characters."),
            "goal_type": one_of("The kind of goal; `boolean` uses 0 and 1.", GoalType::ALL.iter().map(|kind| kind.as_str())),
            "target_value": number("The target."),
            "current_value": number("The current value."),
            "min_value": number("The lower end of the scale."),
            "max_value": number("The upper end of the scale."),
            "unit": text_or_null("The unit."),
            "is_active": truth("At most three goals of a user are active."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
        }),
        &[],
    )
}

fn point() -> Value {
    object(
        "The goal's value on a day.",
        json!({
            "date": { "type": "string", "format": "date", "description": "The UTC day." },
            "value": number("The last value of that day."),
            "recorded_at": time("When it was set."),
        }),
        &[],
    )
}
