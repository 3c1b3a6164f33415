//! Integers and numbers, with pydantic's lax spellings.

use serde_json::{Map, Value, json};

use super::{Report, Take};

/// A whole number within inclusive bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int {
    min: i64,
    max: Option<i64>,
}

impl Int {
    /// Bounded on both sides.
    pub(crate) const fn between(min: i64, max: i64) -> Self {
        Self { min, max: Some(max) }
    }

    /// Bounded below.
    pub(crate) const fn at_least(min: i64) -> Self {
        Self { min, max: None }
    }
}

impl Take for Int {
    type Out = i64;

    fn take(&self, value: &Value, report: &mut Report) -> Option<i64> {
        let number = whole(value, report)?;
        if number < self.min {
            return too_small(report, &self.min.to_string(), self.min.into());
        }
        match self.max {
            Some(max) if number > max => too_large(report, &max.to_string(), max.into()),
            _ => Some(number),
        }
    }

    fn schema(&self) -> Value {
        let mut schema =
            Map::from_iter([("type".to_owned(), "integer".into()), ("minimum".to_owned(), self.min.into())]);
        if let Some(max) = self.max {
            schema.insert("maximum".to_owned(), max.into());
        }
        schema.into()
    }
}

/// A whole number that is written as one: no text, no truth value, no fraction (pydantic's strict mode).
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrictInt {
    min: i64,
}

impl StrictInt {
    /// Bounded below.
    pub(crate) const fn at_least(min: i64) -> Self {
        Self { min }
    }
}

impl Take for StrictInt {
    type Out = i64;

    fn take(&self, value: &Value, report: &mut Report) -> Option<i64> {
        let bounds = Int { min: self.min, max: None };
        match value {
            Value::Number(number) if number.is_i64() => bounds.take(value, report),
            // Beyond 64 bits a number is held as a float, or not signed.
            Value::Number(number) if number.as_f64().is_some_and(|real| real >= TWO_TO_63) => {
                too_large(report, &i64::MAX.to_string(), i64::MAX.into())
            }
            Value::Number(number) if number.as_f64().is_some_and(|real| real <= -TWO_TO_63) => {
                too_small(report, &self.min.to_string(), self.min.into())
            }
            _ => report.refuse("int_type", "Input should be a valid integer"),
        }
    }

    fn schema(&self) -> Value {
        Int { min: self.min, max: None }.schema()
    }
}

/// The first number that a signed integer of 64 bits does not hold.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A finite number within inclusive bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Float {
    min: f64,
    max: f64,
}

impl Float {
    /// Bounded on both sides.
    pub(crate) const fn between(min: f64, max: f64) -> Self {
        Self { min, max }
    }
}

impl Take for Float {
    type Out = f64;

    fn take(&self, value: &Value, report: &mut Report) -> Option<f64> {
        let number = real(value, report)?;
        if !number.is_finite() {
            return report.refuse("finite_number", "Input should be a finite number");
        }
        if number < self.min {
            return too_small(report, &self.min.to_string(), json!(self.min));
        }
        if number > self.max {
            return too_large(report, &self.max.to_string(), json!(self.max));
        }
        Some(number)
    }

    fn schema(&self) -> Value {
        let mut schema = Map::from_iter([("type".to_owned(), "number".into())]);
        if self.min > f64::MIN {
            schema.insert("minimum".to_owned(), self.min.into());
        }
        if self.max < f64::MAX {
            schema.insert("maximum".to_owned(), self.max.into());
        }
        schema.into()
    }
}

fn too_small<T>(report: &mut Report, bound: &str, ge: Value) -> Option<T> {
    let msg = format!("Input should be greater than or equal to {bound}");
    report.refuse_with("greater_than_equal", msg, json!({ "ge": ge }))
}

fn too_large<T>(report: &mut Report, bound: &str, le: Value) -> Option<T> {
    let msg = format!("Input should be less than or equal to {bound}");
    report.refuse_with("less_than_equal", msg, json!({ "le": le }))
}

fn whole(value: &Value, report: &mut Report) -> Option<i64> {
    match value {
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Some(whole),
            // Beyond 64 bits the nearest bound stands in: every limit of ours refuses it either way.
            (None, Some(real)) if real.fract() == 0.0 => Some(real as i64),
            _ => report.refuse(
                "int_from_float",
                "Input should be a valid integer, got a number with a fractional part",
            ),
        },
        Value::String(text) => whole_of_text(text).or_else(|| {
            report.refuse(
                "int_parsing",
                "Input should be a valid integer, unable to parse string as an integer",
            )
        }),
        _ => report.refuse("int_type", "Input should be a valid integer"),
    }
}

/// pydantic's grammar: white space around, a sign, digits with single underscores between, `.0`, `.00` … behind.
fn whole_of_text(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
        None => (1, text),
    };
    let digits = match digits.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        Some(_) => return None,
        None => digits,
    };
    let well_formed = !digits.is_empty()
        && digits
            .split('_')
            .all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    well_formed.then(|| {
        digits.bytes().filter(u8::is_ascii_digit).fold(0_i64, |number, digit| {
            number.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0'))
        })
    })
}

fn real(value: &Value, report: &mut Report) -> Option<f64> {
    match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => real_of_text(text).or_else(|| {
            report
                .refuse("float_parsing", "Input should be a valid number, unable to parse string as a number")
        }),
        _ => report.refuse("float_type", "Input should be a valid number"),
    }
}

/// pydantic's grammar: as programs write numbers, with white space around or with single underscores anywhere but at the
/// ends, and not with both.
fn real_of_text(text: &str) -> Option<f64> {
    let misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    let plain = || text.trim().parse().ok();
    plain().or_else(|| if misplaced { None } else { text.replace('_', "").parse().ok() })
}
