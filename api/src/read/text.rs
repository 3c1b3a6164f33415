//! Strings, bounded in code points.

use records::is_one_line;
use serde_json::{Map, Value, json};

use super::{Report, Take};

/// A string of `min` to `max` code points, as it was sent (nothing is trimmed).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    min: usize,
    max: usize,
    /// Why one that is blank is refused, where it is.
    not_blank: Option<&'static str>,
    one_line: bool,
}

/// What [`is_one_line`] refuses, in a class of a pattern.
const BREAKS: &str = r"\x00-\x1f\x7f-\x9f\u2028\u2029";

impl Text {
    /// Bounded on both sides.
    pub(crate) const fn between(min: usize, max: usize) -> Self {
        Self { min, max, not_blank: None, one_line: false }
    }

    /// As long as labels, names and addresses of other people's making may be: bounded because lists repeat them.
    pub(crate) const fn label() -> Self {
        Self::between(0, 500)
    }

    /// As long as the body allows.
    pub(crate) const fn any() -> Self {
        Self::between(0, usize::MAX)
    }

    /// It holds more than white space, or is refused in these words.
    pub(crate) const fn not_blank(self, words: &'static str) -> Self {
        Self { not_blank: Some(words), ..self }
    }

    /// A name that people, lists and prompts show: 1 to 100 characters, without line breaks and other control characters.
    pub(crate) const fn name() -> Self {
        Self { one_line: true, ..Self::between(1, 100) }
    }
}

impl Take for Text {
    type Out = String;

    fn take(&self, value: &Value, report: &mut Report) -> Option<String> {
        let Value::String(text) = value else {
            return report.refuse("string_type", "Input should be a valid string");
        };
        let length = text.chars().count();
        if length < self.min {
            let msg = format!("String should have at least {}", characters(self.min));
            return report.refuse_with("string_too_short", msg, json!({ "min_length": self.min }));
        }
        if length > self.max {
            let msg = format!("String should have at most {}", characters(self.max));
            return report.refuse_with("string_too_long", msg, json!({ "max_length": self.max }));
        }
        match self.not_blank {
            // Postgres' text cannot hold U+0000: better refused here than broken there.
            _ if text.contains('\0') => report.rule("the character U+0000 is not allowed"),
            _ if self.one_line && !is_one_line(text) => {
                report.rule("line breaks and control characters are not allowed")
            }
            Some(words) if text.trim().is_empty() => report.rule(words),
            _ => Some(text.clone()),
        }
    }

    fn schema(&self) -> Value {
        let mut schema = Map::from_iter([("type".to_owned(), "string".into())]);
        if self.min > 0 {
            schema.insert("minLength".to_owned(), self.min.into());
        }
        if self.max < usize::MAX {
            schema.insert("maxLength".to_owned(), self.max.into());
        }
        let pattern = match (self.not_blank.is_some(), self.one_line) {
            (false, false) => None,
            (true, false) => Some(r"\S".to_owned()),
            (false, true) => Some(format!("^[^{BREAKS}]*$")),
            (true, true) => Some(format!(r"^[^{BREAKS}]*[^\s{BREAKS}][^{BREAKS}]*$")),
        };
        if let Some(pattern) = pattern {
            schema.insert("pattern".to_owned(), pattern.into());
        }
        schema.into()
    }
}

fn characters(count: usize) -> String {
    format!("{count} character{}", if count == 1 { "" } else { "s" })
}
