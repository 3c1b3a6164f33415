//! Booleans, with pydantic's lax spellings.

use serde_json::{Value, json};

use super::{Report, Take};

/// A boolean; 0, 1 and the words of pydantic's lax mode count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bool;

/// 2^63.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

impl Take for Bool {
    type Out = bool;

    fn take(&self, value: &Value, report: &mut Report) -> Option<bool> {
        match value {
            Value::Bool(truth) => Some(*truth),
            Value::String(word) => of_word(word).or_else(|| unclear(report)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(0), _) | (None, Some(0.0)) => Some(false),
                (Some(1), _) | (None, Some(1.0)) => Some(true),
                (Some(_), _) => unclear(report),
                // Beyond 64 bits pydantic sees no integer any more.
                (None, Some(other)) if other.fract() == 0.0 && other.abs() < BEYOND => unclear(report),
                _ => wrong(report),
            },
            _ => wrong(report),
        }
    }

    fn schema(&self) -> Value {
        json!({ "type": "boolean" })
    }
}

fn of_word(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" | "on" => Some(true),
        "0" | "false" | "f" | "no" | "n" | "off" => Some(false),
        _ => None,
    }
}

fn unclear(report: &mut Report) -> Option<bool> {
    report.refuse("bool_parsing", "Input should be a valid boolean, unable to interpret input")
}

fn wrong(report: &mut Report) -> Option<bool> {
    report.refuse("bool_type", "Input should be a valid boolean")
}
