//! What a rule reads: a day, and the groups of its pattern.

use chrono::{NaiveDate, NaiveTime};
use regex::Captures;

/// A day, perhaps with a time that its own words name, and whether it is more than a rough period.
pub(super) struct Day(pub(super) NaiveDate, pub(super) Option<NaiveTime>, pub(super) bool);

pub(super) fn day(date: NaiveDate) -> Day {
    Day(date, None, true)
}

pub(super) fn roughly(date: NaiveDate) -> Day {
    Day(date, None, false)
}

pub(super) fn group<'t>(captures: &Captures<'t>, name: &str) -> &'t str {
    captures.name(name).map_or("", |found| found.as_str())
}

/// 1 for "next", else 0.
pub(super) fn steps(captures: &Captures<'_>) -> u32 {
    u32::from(group(captures, "which") == "next")
}
