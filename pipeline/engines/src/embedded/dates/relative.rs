//! Days that are named by counting: the week after next, the third Monday of a month, its last day.

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, Weekday};
use regex::Captures;

use super::calendar::{following, in_week, month, month_end, month_start, number, of_year, ordinal, weekday};
use super::day::{Day, day, group, roughly, steps};

/// "In a fortnight".
pub(super) fn fortnight(_: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    Some(day(now.date() + Duration::weeks(2)))
}

/// "Monday fortnight".
pub(super) fn weekday_fortnight(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let first = match group(captures, "w") {
        "today" => now.date(),
        "tomorrow" => now.date().succ_opt()?,
        name => following(now.date(), weekday(name)?),
    };
    Some(day(first + Duration::weeks(2)))
}

/// "The Friday after next": the second that comes; so with weekends.
pub(super) fn weekday_after_next(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    match group(captures, "w") {
        "weekend" => Some(roughly(in_week(now.date(), 2, Weekday::Sat))),
        name => Some(day(following(now.date(), weekday(name)?) + Duration::weeks(1))),
    }
}

/// "The day after Thursday".
pub(super) fn beside_weekday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let named = following(now.date(), weekday(group(captures, "w"))?);
    match group(captures, "side") {
        "before" => named.pred_opt().map(day),
        _ => named.succ_opt().map(day),
    }
}

/// "Within ten working days": Saturdays and Sundays do not count.
pub(super) fn working_days(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let mut left = number(group(captures, "n"))?;
    let mut date = now.date();
    while left > 0 {
        date = date.succ_opt()?;
        left -= i64::from(date.weekday().num_days_from_monday() < 5);
    }
    Some(day(date))
}

/// "Monday in two weeks": the Monday of that week.
pub(super) fn weekday_in_weeks(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let weeks = number(group(captures, "n")).filter(|weeks| *weeks < 60)?;
    Some(day(in_week(now.date(), weeks, weekday(group(captures, "w"))?)))
}

/// "Friday of next week", "next week on Wednesday".
pub(super) fn weekday_of_week(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let date = in_week(now.date(), i64::from(steps(captures)), weekday(group(captures, "w"))?);
    Some(day(date))
}

/// "By this time next week".
pub(super) fn this_time(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    match group(captures, "unit") {
        "" => on_weekday(captures, now),
        "tomorrow" => now.date().succ_opt().map(day),
        _ => Some(day(now.date() + Duration::weeks(1))),
    }
}

/// "The last week of March": its last day; the first is over on the 7th.
pub(super) fn nth_week(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let first = match group(captures, "month") {
        "" => month_start(now.date(), steps(captures))?,
        named => of_year(now.date().with_day(1)?, None, month(named)?, 1)?,
    };
    match group(captures, "d") {
        "last" => month_end(first, 0).map(roughly),
        count => first.with_day(7 * ordinal(count)?).map(roughly),
    }
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

/// The weekday that follows another date: "the Saturday after", "the following Tuesday".
pub(super) fn follows<'t>(captures: &Captures<'t>) -> Option<regex::Match<'t>> {
    captures.name("follows").or_else(|| captures.name("followed"))
}

pub(super) fn on_weekday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let name = captures.name("w").or_else(|| follows(captures))?.as_str();
    let (today, name) = (now.date(), weekday(name)?);
    let date = match group(captures, "which") {
        "next" => in_week(today, 1, name),
        "this" if today.weekday() == name => today,
        _ => following(today, name),
    };
    let later = if captures.name("week").is_some() { 7 } else { 0 };
    Some(day(date + Duration::days(later)))
}
