//! Moments, lengths and counts as people read them.

use std::fmt;

use askama::filters::HtmlSafe;
use job::Timestamp;

use crate::commands::times::{ago, time};

/// A moment: shown by its distance, and in full to the millisecond.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    full: String,
    distance: String,
}

impl Moment {
    /// As it is seen at `now`.
    pub(super) fn new(at: Timestamp, now: Timestamp) -> Self {
        let distance = match ago(at, now) {
            ahead if ahead.starts_with("in ") => ahead,
            past => format!("{past} ago"),
        };
        Self { full: time(at), distance }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<time datetime=\"{0}\" title=\"{0}\">{1}</time>", self.full, self.distance)
    }
}

/// It is made of digits and units.
impl HtmlSafe for Moment {}

/// A sentence in which commands stand between backticks, as the command line says them.
#[derive(Clone, Debug)]
pub(super) struct Sentence(String);

impl Sentence {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.split('`').enumerate() {
            let escaped = askama::filters::escape(part, askama::filters::Html).map_err(|_| fmt::Error)?;
            match place.is_multiple_of(2) {
                true => write!(f, "{escaped}")?,
                false => write!(f, "<code>{escaped}</code>")?,
            }
        }
        Ok(())
    }
}

/// Every part of it is escaped when it is written.
impl HtmlSafe for Sentence {}

/// A count with its thousands apart.
pub(super) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// Milliseconds, in seconds where there are many.
pub(super) fn millis(number: f64) -> String {
    if number < 1_000.0 { format!("{number:.0} ms") } else { format!("{:.1} s", number / 1_000.0) }
}

/// A status as a sentence's word.
pub(super) fn status(name: &str) -> &'static str {
    match name {
        "queued" => "queued",
        "leased" => "running",
        "blocked_byok" => "parked for keys",
        "completed" => "completed",
        "dead_letter" => "dead letter",
        _ => "unknown",
    }
}

/// A part of a path, as addresses carry it.
pub(super) fn segment(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// The query string of pairs; empty values are left out.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_marks_commands_only() {
        let said = Sentence::new("<b>olga</b> paused it: `listen jobs resume`.").to_string();
        assert_eq!(said, "&#60;b&#62;olga&#60;/b&#62; paused it: <code>listen jobs resume</code>.");
    }

    #[test]
    fn counts_and_milliseconds_are_readable() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(-1_234_567)],
            ["0", "999", "1,000", "-1,234,567"]
        );
        assert_eq!([millis(12.3), millis(1_500.0)], ["12 ms", "1.5 s"]);
        assert_eq!(query(&[("code", "a&b"), ("user", ""), ("status", "queued")]), "code=a%26b&status=queued");
    }
}
