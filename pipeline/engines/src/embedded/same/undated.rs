//! Dates say when, and not what.

use std::collections::BTreeSet;

use chrono::{NaiveDate, NaiveTime};
use chrono_tz::Tz;
use records::{Talk, Timestamp};

use crate::embedded::dates::{DayOrder, Found, Reference};

/// A text without its dates.
pub(super) struct Undated {
    pub(super) text: String,
    pub(super) days: BTreeSet<NaiveDate>,
    pub(super) times: Vec<NaiveTime>,
}

/// Dates say when, not what: the text without them, the days, and the times of day that are said exactly. Any reference
/// serves, as days are compared with each other alone.
pub(super) fn without_dates(text: &str) -> Undated {
    let whole = || Undated { text: text.to_owned(), days: BTreeSet::new(), times: Vec::new() };
    let Some(moment) = NaiveDate::from_ymd_opt(2000, 1, 3).and_then(|day| day.and_hms_opt(9, 0, 0)) else {
        return whole();
    };
    let started_at: Timestamp = moment.and_utc();
    let talk = Talk {
        lines: Vec::new(),
        started_at,
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    };
    let found = Reference::of(&talk, DayOrder::default()).find(text);
    Undated {
        // "Monday's meeting" leaves its apostrophe.
        text: found
            .iter()
            .rev()
            .fold(text.to_owned(), |text, date| date.removed_from(&text))
            .replace(" 's ", " of "),
        days: found.iter().map(Found::day).collect(),
        times: found.iter().filter_map(Found::time).collect(),
    }
}
