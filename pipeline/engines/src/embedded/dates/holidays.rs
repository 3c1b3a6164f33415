//! Days that have names.

use chrono::{Duration, NaiveDate, NaiveDateTime, Weekday};
use regex::Captures;

use super::calendar::{easter, of_year};
use super::day::{Day, day, group, roughly};

pub(super) const HOLIDAY: &str = r"\b(?P<name>christmas\s+eve|christmas(?:\s+day)?|boxing\s+day|new\s+year's\s+eve|new\s+year(?:'s)?(?:\s+day)?|halloween|bonfire\s+night|valentine's(?:\s+day)?|st\.?\s+patrick's\s+day|april\s+fools?'?(?:\s+day)?|independence\s+day|labor\s+day|memorial\s+day|thanksgiving|good\s+friday|palm\s+sunday|ash\s+wednesday|easter\s+(?:monday|sunday)|easter|ascension\s+day|whit\s+monday|pentecost)\b";

/// The next of its kind, today included. "Over Easter" and "at Christmas" are no single day.
pub(super) fn holiday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let name = group(captures, "name");
    let vague =
        matches!(name, "easter" | "christmas") && matches!(group(captures, "lead"), "over" | "at" | "for");
    let date = next(now.date(), name)?;
    Some(if vague { roughly(date) } else { day(date) })
}

fn next(today: NaiveDate, name: &str) -> Option<NaiveDate> {
    let fixed = |month, number| of_year(today, None, month, number);
    match name {
        _ if name.starts_with("christmas") => fixed(12, if name.ends_with("eve") { 24 } else { 25 }),
        _ if name.ends_with("year's eve") => fixed(12, 31),
        _ if name.starts_with("new") => fixed(1, 1),
        _ if name.starts_with("boxing") => fixed(12, 26),
        _ if name.starts_with("bonfire") => fixed(11, 5),
        _ if name.starts_with("april") => fixed(4, 1),
        _ if name.starts_with("st") => fixed(3, 17),
        _ if name.starts_with("independence") => fixed(7, 4),
        _ if name.starts_with("valentine") => fixed(2, 14),
        "halloween" => fixed(10, 31),
        _ => movable(today, name),
    }
}

fn movable(today: NaiveDate, name: &str) -> Option<NaiveDate> {
    use chrono::Datelike;
    let of = |year: i32| match name {
        "thanksgiving" => NaiveDate::from_weekday_of_month_opt(year, 11, Weekday::Thu, 4),
        _ if name.starts_with("labor") => NaiveDate::from_weekday_of_month_opt(year, 9, Weekday::Mon, 1),
        // The last Monday of May is the fifth, or else the fourth.
        _ if name.starts_with("memorial") => NaiveDate::from_weekday_of_month_opt(year, 5, Weekday::Mon, 5)
            .or_else(|| NaiveDate::from_weekday_of_month_opt(year, 5, Weekday::Mon, 4)),
        _ => Some(easter(year)? + Duration::days(after_easter(name))),
    };
    (today.year()..today.year() + 2).filter_map(of).find(|date| *date >= today)
}

fn after_easter(name: &str) -> i64 {
    match name {
        _ if name.starts_with("good") => -2,
        _ if name.starts_with("palm") => -7,
        _ if name.starts_with("ash") => -46,
        _ if name.starts_with("ascension") => 39,
        _ if name.starts_with("whit") => 50,
        "pentecost" => 49,
        _ if name.ends_with("monday") => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feasts_that_move_are_found_for_their_year() {
        let on = |today: &str, name: &str| next(today.parse().ok()?, name).map(|date| date.to_string());
        for (today, name, date) in [
            ("2027-03-09", "easter", "2027-03-28"),
            ("2027-03-29", "easter", "2028-04-16"),
            ("2027-03-09", "good friday", "2027-03-26"),
            ("2027-03-09", "whit monday", "2027-05-17"),
            ("2026-09-16", "thanksgiving", "2026-11-26"),
            ("2027-03-09", "memorial day", "2027-05-31"),
            ("2026-12-26", "boxing day", "2026-12-26"),
        ] {
            assert_eq!(on(today, name).as_deref(), Some(date), "{name}");
        }
    }
}
