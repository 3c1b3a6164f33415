//! Days that are named by counting: the week after next, the third Monday of a month, its last day.

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, Weekday};
use regex::Captures;

use super::calendar::{in_week, month, month_end, month_start, of_year, ordinal, weekday};
use super::days::{Day, day, group, roughly, steps};

/// "In a fortnight".
pub(super) fn fortnight(_: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    Some(day(now.date() + Duration::weeks(2)))
}

/// "The week after next" is due on its Friday, "the month after next" on its last day.
pub(super) fn after_next(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    match group(captures, "unit") {
        "week" => Some(roughly(in_week(now.date(), 2, Weekday::Fri))),
        _ => month_end(now.date(), 2).map(roughly),
    }
}

/// "The first of next month", "the last day of this month".
pub(super) fn day_of_named_month(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let first = month_start(now.date(), steps(captures))?;
    first.with_day(ordinal(group(captures, "d"))?).map(day)
}

/// "The third Monday of December", "the last Friday of next month".
pub(super) fn nth_weekday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let name = weekday(group(captures, "w"))?;
    let first = match group(captures, "month") {
        "" => month_start(now.date(), steps(captures))?,
        named => of_year(now.date().with_day(1)?, None, month(named)?, 1)?,
    };
    match group(captures, "d") {
        "last" => last(name, month_end(first, 0)?).map(day),
        count => nth(name, first, ordinal(count)?).map(day),
    }
}

fn nth(name: Weekday, first: NaiveDate, count: u32) -> Option<NaiveDate> {
    NaiveDate::from_weekday_of_month_opt(first.year(), first.month(), name, u8::try_from(count).ok()?)
}

fn last(name: Weekday, end: NaiveDate) -> Option<NaiveDate> {
    let back = (end.weekday().num_days_from_monday() + 7 - name.num_days_from_monday()) % 7;
    end.checked_sub_signed(Duration::days(i64::from(back)))
}
