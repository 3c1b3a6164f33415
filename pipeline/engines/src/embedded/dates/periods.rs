//! Weeks, months, quarters and years: their ends, starts and middles.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Weekday};
use regex::Captures;

use super::calendar::{in_week, month, month_end, month_start, of_year, quarter_end, year_end};
use super::day::{Day, day, group, roughly, steps};

pub(super) fn end_of(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let (today, steps) = (now.date(), steps(captures));
    match group(captures, "unit") {
        "week" => Some(day(week_end(today, steps))),
        "month" => month_end(today, steps).map(day),
        "quarter" => quarter_end(today, steps).map(day),
        "year" => year_end(today, i32::try_from(steps).ok()?).map(day),
        name => month_end(of_year(today.with_day(1)?, None, month(name)?, 1)?, 0).map(day),
    }
}

/// The end of a week is its Friday; at a weekend, "this week" ends on Sunday.
fn week_end(today: NaiveDate, steps: u32) -> NaiveDate {
    let friday = in_week(today, i64::from(steps), Weekday::Fri);
    if friday < today { in_week(today, i64::from(steps), Weekday::Sun) } else { friday }
}

pub(super) fn start_of(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let steps = steps(captures);
    match group(captures, "unit") {
        "week" => Some(day(in_week(now.date(), i64::from(steps), Weekday::Mon))),
        "month" => month_start(now.date(), steps).map(day),
        _ => NaiveDate::from_ymd_opt(now.year() + i32::try_from(steps).ok()?, 1, 1).map(day),
    }
}

pub(super) fn middle_of(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let steps = steps(captures);
    match group(captures, "unit") {
        "week" => Some(day(in_week(now.date(), i64::from(steps), Weekday::Wed))),
        "month" => month_start(now.date(), steps)?.with_day(15).map(day),
        name => of_year(now.date(), None, month(name)?, 15).map(day),
    }
}

/// A whole period: due at its end.
pub(super) fn period(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let (today, steps) = (now.date(), steps(captures));
    match (group(captures, "unit"), group(captures, "which")) {
        ("weekend", which) => {
            let weeks = i64::from(which == "next");
            Some(roughly(in_week(today, weeks, if which == "the" { Weekday::Sat } else { Weekday::Sun })))
        }
        (_, "the") => None,
        ("week", _) => Some(roughly(week_end(today, steps))),
        ("month", _) => month_end(today, steps).map(roughly),
        ("quarter", _) => quarter_end(today, steps).map(roughly),
        _ => year_end(today, i32::try_from(steps).ok()?).map(roughly),
    }
}

/// "Early in May", "late October", "the beginning of April".
pub(super) fn part_of_month(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let number = match group(captures, "part") {
        "early" => 5,
        "late" => 25,
        _ => 1,
    };
    let first = of_year(now.date().with_day(1)?, None, month(group(captures, "month"))?, 1)?;
    first.with_day(number).map(roughly)
}

/// "The end of the summer": the last day of its third month.
pub(super) fn season_end(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let last = match group(captures, "season") {
        "spring" => 5,
        "summer" => 8,
        "winter" => 2,
        _ => 11,
    };
    month_end(of_year(now.date().with_day(1)?, None, last, 1)?, 0).map(roughly)
}
