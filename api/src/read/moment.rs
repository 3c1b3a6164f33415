//! Moments in time, read by `speedate`: the parser that pydantic itself uses.

use chrono::{Datelike, NaiveDate, TimeDelta};
use records::Timestamp;
use serde_json::{Value, json};
use speedate::{
    Date, DateTime, DateTimeConfig, MicrosecondsPrecisionOverflowBehavior, ParseError, TimeConfig,
};

use super::{Report, Take};

/// A moment that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant {
    /// In UTC; a time without a zone is taken as UTC (DECISIONS §1, "times").
    pub(crate) at: Timestamp,
    /// Only a date was sent: as the end of a range it means the whole day (DECISIONS §3, "dates").
    pub(crate) whole_day: bool,
    /// A zone was sent (unix numbers are UTC by definition).
    pub(crate) has_zone: bool,
}

impl Instant {
    /// The last microsecond that belongs to it, as the inclusive end of a range.
    pub(crate) fn end(self) -> Timestamp {
        match self.whole_day {
            true => self.at + TimeDelta::days(1) - TimeDelta::microseconds(1),
            false => self.at,
        }
    }
}

/// A datetime: RFC 3339 and its relaxations, a date, or unix seconds or milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment;

impl Take for Moment {
    type Out = Instant;

    fn take(&self, value: &Value, report: &mut Report) -> Option<Instant> {
        match value {
            Value::String(text) => of_text(text, report),
            Value::Number(number) => of_number(number, report),
            _ => report.refuse("datetime_type", "Input should be a valid datetime"),
        }
    }

    fn schema(&self) -> Value {
        json!({ "type": "string", "format": "date-time" })
    }
}

/// A datetime that must carry a zone, as `due_at` does (DECISIONS §1, "times").
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZonedMoment;

impl Take for ZonedMoment {
    type Out = Timestamp;

    fn take(&self, value: &Value, report: &mut Report) -> Option<Timestamp> {
        let instant = Moment.take(value, report)?;
        match instant.has_zone {
            true => Some(instant.at),
            false => report.refuse("timezone_aware", "Input should have timezone info"),
        }
    }

    fn schema(&self) -> Value {
        Moment.schema()
    }
}

/// First as a datetime, then as a date; if both fail, the date parser's reason is reported.
fn of_text(text: &str, report: &mut Report) -> Option<Instant> {
    if let Ok(datetime) = DateTime::parse_bytes_with_config(text.as_bytes(), &config()) {
        let has_zone = datetime.time.tz_offset.is_some();
        return in_utc(&datetime, report).map(|at| Instant { at, whole_day: false, has_zone });
    }
    match Date::parse_bytes(text.as_bytes()) {
        Ok(date) => match midnight(&date) {
            Some(at) => Some(Instant { at, whole_day: true, has_zone: false }),
            None => year_zero(report),
        },
        Err(error) => refuse(report, "datetime_from_date_parsing", "datetime or date", reason(&error)),
    }
}

fn of_number(number: &serde_json::Number, report: &mut Report) -> Option<Instant> {
    let parsed = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => DateTime::from_timestamp_with_config(whole, 0, &config()),
        (None, Some(real)) => DateTime::from_float_with_config(real, &config()),
        (None, None) => Err(ParseError::DateTooLarge),
    };
    match parsed {
        Ok(datetime) => in_utc(&datetime, report).map(|at| Instant { at, whole_day: false, has_zone: true }),
        Err(error) => refuse(report, "datetime_parsing", "datetime", reason(&error)),
    }
}

fn in_utc(datetime: &DateTime, report: &mut Report) -> Option<Timestamp> {
    let time = &datetime.time;
    let naive = midnight(&datetime.date).map(|midnight| {
        let seconds = i64::from(time.hour) * 3_600 + i64::from(time.minute) * 60 + i64::from(time.second)
            - i64::from(time.tz_offset.unwrap_or(0));
        midnight + TimeDelta::seconds(seconds) + TimeDelta::microseconds(i64::from(time.microsecond))
    });
    match naive {
        None => year_zero(report),
        Some(at) if in_calendar(at) => Some(at),
        Some(_) => report.rule("the moment must lie within the years 1 to 9999 in UTC"),
    }
}

/// Whether clients can read it: four digits hold the years 1 to 9999 and no other.
pub(crate) fn in_calendar(at: Timestamp) -> bool {
    (1..=9_999).contains(&at.year())
}

/// `None` for the year 0, which speedate knows and Python's calendar does not.
fn midnight(date: &Date) -> Option<Timestamp> {
    let named = NaiveDate::from_ymd_opt(i32::from(date.year), u32::from(date.month), u32::from(date.day))?;
    (date.year > 0).then(|| named.and_time(chrono::NaiveTime::MIN).and_utc())
}

fn year_zero<T>(report: &mut Report) -> Option<T> {
    refuse(report, "datetime_parsing", "datetime", "year 0 is out of range")
}

fn refuse<T>(report: &mut Report, kind: &'static str, wanted: &str, reason: &str) -> Option<T> {
    let msg = format!("Input should be a valid {wanted}, {reason}");
    report.refuse_with(kind, msg, json!({ "error": reason }))
}

/// Fractions beyond microseconds are cut, and unix numbers are UTC, as pydantic has it.
fn config() -> DateTimeConfig {
    let time_config = TimeConfig {
        microseconds_precision_overflow_behavior: MicrosecondsPrecisionOverflowBehavior::Truncate,
        unix_timestamp_offset: Some(0),
    };
    DateTimeConfig { time_config, ..DateTimeConfig::default() }
}

/// speedate's own documentation strings, which are pydantic's messages. (Reading them from the crate needs a
/// trait of one of its dependencies; the list below is what a date, or a number, can be refused for.)
fn reason(error: &ParseError) -> &'static str {
    match error {
        ParseError::TooShort => "input is too short",
        ParseError::ExtraCharacters => "unexpected extra characters at the end of the input",
        ParseError::InvalidCharDateSep => "invalid date separator, expected `-`",
        ParseError::DateNotExact => "Timestamp is not an exact date",
        ParseError::InvalidCharYear => "invalid character in year",
        ParseError::InvalidCharMonth => "invalid character in month",
        ParseError::InvalidCharDay => "invalid character in day",
        ParseError::OutOfRangeMonth => "month value is outside expected range of 1-12",
        ParseError::OutOfRangeDay => "day value is outside expected range",
        ParseError::DateTooSmall => "dates before 0000 are not supported as unix timestamps",
        ParseError::DateTooLarge => "dates after 9999 are not supported as unix timestamps",
        _ => "invalid input",
    }
}
