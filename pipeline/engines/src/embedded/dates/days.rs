//! Days: one rule per way of naming them.

use std::sync::LazyLock;

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use regex::Captures;

use super::calendar::{
    day_of_month, following, in_week, month, month_end, number, of_year, ordinal, weekday,
};
use super::periods::{end_of, middle_of, period, start_of};
use super::relative::{after_next, day_of_named_month, fortnight, nth_weekday};
use super::{DayOrder, Found};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// A day, perhaps with a time that its own words name, and whether it is more than a rough period.
pub(super) struct Day(NaiveDate, Option<NaiveTime>, bool);

type Reader = fn(&Captures<'_>, NaiveDateTime) -> Option<Day>;

const LEAD: &str = r"(?:\b(?P<lead>by|before|until|till|no later than|due(?: on| by)?|on|for|in|at|over|during|around|starting|latest)\s+(?:the\s+)?)?";
const WEEKDAY: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";
const SHORT_WEEKDAY: &str = r"mon|tues?|wed|thurs?|thu|fri|sat|sun";
const MONTH: &str = r"january|february|march|april|may|june|july|august|september|october|november|december|jan\.?|feb\.?|mar\.?|apr\.?|jun\.?|jul\.?|aug\.?|sept?\.?|oct\.?|nov\.?|dec\.?";
/// A weekday that stands before a full date adds nothing to it.
const DAY_NAME: &str = r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?";
const ORDINAL: &str = r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth";
const NUMBER: &str = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3}|(?:an?\s+|the\s+)?(?:couple|few)(?:\s+of)?";

/// In order of preference: what an earlier rule took, a later one does not see.
static RULES: LazyLock<Vec<(Pattern, Reader)>> = LazyLock::new(|| {
    let rule = |body: String, reader: Reader| (pattern(&format!("{LEAD}{body}")), reader);
    vec![
        rule(r"\b(?:the\s+)?day\s+after\s+tomorrow\b".into(), |_, now| Some(day(now.date() + Duration::days(2)))),
        rule(format!(r"\b(?P<n>{NUMBER})\s+weeks?\s+(?:from|on)\s+(?P<from>today|now|tomorrow|{WEEKDAY})\b"), weeks_from),
        rule(format!(r"\b(?P<n>{NUMBER})\s+(?P<unit>minute|hour|day|week|month)s?\s+from\s+now\b"), ahead),
        (
            pattern(&format!(
                r"\b(?:(?P<lead>within|in|over)\s+(?:about\s+|around\s+)?(?:the\s+next\s+)?|the\s+next\s+)(?P<n>half\s+an?|{NUMBER})\s+(?P<unit>minute|hour|day|week|month|year)s?\b(?P<half>\s+and\s+a\s+half)?"
            )),
            ahead,
        ),
        rule(r"\b(?:an?\s+|one\s+)?fortnight\b".into(), fortnight),
        rule(r"\b(?P<unit>week|month)\s+after\s+next\b".into(), after_next),
        rule(format!(r"\b(?P<d>first|second|third|fourth|last)\s+(?P<w>{WEEKDAY})\s+(?:of|in)\s+(?:(?:the|(?P<which>this|next))\s+month|(?P<month>{MONTH}))(?:\b|$)"), nth_weekday),
        rule(format!(r"\b(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+of\s+(?P<which>this|next)\s+month\b"), day_of_named_month),
        rule(format!(r"\b(?:end|last\s+day|close)\s+of\s+(?:the\s+)?(?P<which>this|next)?\s*(?P<unit>week|month|quarter|year|{MONTH})\b"), end_of),
        rule(r"\b(?P<which>this|next)?\s*(?P<unit>month|week|year|quarter)(?:'s)?[\s-]end\b".into(), end_of),
        rule(r"\b(?:early|start\s+of|beginning\s+of|first\s+thing)\s+(?:the\s+)?(?P<which>this|next)\s+(?P<unit>week|month|year)\b".into(), start_of),
        rule(format!(r"\b(?:mid(?:dle\s+of)?)[\s-](?:the\s+)?(?P<which>this|next)?\s*(?P<unit>week|month|{MONTH})\b"), middle_of),
        rule(r"\b(?:late(?:r)?\s+)?(?P<which>this|next|the)\s+(?P<unit>weekend|week|month|quarter|year)\b".into(), period),
        rule(format!(r"{DAY_NAME}\b(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{MONTH})(?:,?\s+(?P<y>20\d\d))?(?:\b|$)"), month_day),
        rule(format!(r"{DAY_NAME}\b(?P<month>{MONTH})\s+(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y>20\d\d)\b)?"), month_day),
        rule(r"\b(?P<y>20\d\d)-(?P<m>\d{2})-(?P<d>\d{2})\b".into(), numeric),
        rule(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>20\d\d)\b".into(), numeric),
        rule(format!(r"\b(?:{WEEKDAY}),?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)\b"), nth),
        (pattern(r"\b(?P<lead>by|before|until|due(?: on| by)?|on|for)\s+the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b"), nth),
        (pattern(&format!(r"\b(?P<lead>by|before|until|in|during)\s+(?:early\s+|late\s+|mid-?)?(?P<month>{MONTH})(?:\b|$)(?:\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\b|$))?")), whole_month),
        rule(format!(r"\b(?:(?P<which>next|this|coming|this\s+coming)\s+)?(?P<w>{WEEKDAY})(?P<week>\s+week)?\b"), on_weekday),
        (pattern(&format!(r"\b(?P<lead>by|before|until|on|due)\s+(?:(?P<which>next|this)\s+)?(?P<w>{SHORT_WEEKDAY})\b")), on_weekday),
        rule(r"\b(?:tomorrow|tmrw)\b".into(), |_, now| Some(day(now.date() + Duration::days(1)))),
        rule(r"\b(?P<part>tonight|this\s+(?:morning|afternoon|evening))\b".into(), this_part),
        rule(r"\b(?:later\s+)?today\b".into(), |_, now| Some(day(now.date()))),
        rule(r"\b(?P<name>christmas\s+eve|christmas(?:\s+day)?|new\s+year's\s+eve|new\s+year's(?:\s+day)?|halloween|valentine's(?:\s+day)?)\b".into(), holiday),
    ]
});

/// Days with strokes, in both orders.
static MONTH_FIRST: LazyLock<(Pattern, Reader)> = LazyLock::new(|| slashed("m", "d"));
static DAY_FIRST: LazyLock<(Pattern, Reader)> = LazyLock::new(|| slashed("d", "m"));

fn slashed(first: &str, second: &str) -> (Pattern, Reader) {
    let body = format!(r"\b(?P<{first}>\d{{1,2}})/(?P<{second}>\d{{1,2}})(?:/(?P<y>\d{{2,4}}))?\b");
    (pattern(&format!("{LEAD}{body}")), numeric)
}

/// A part of the day right after its day: "Monday morning".
static PART: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"^,?\s+(?:in\s+the\s+|at\s+)?(?P<part>morning|afternoon|evening|night|lunchtime)\b")
});

/// Every day that `text` (lower case, past masked) names, without overlaps.
pub(super) fn find(text: &str, now: NaiveDateTime, order: DayOrder) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let slashed = match order {
        DayOrder::MonthFirst => &*MONTH_FIRST,
        DayOrder::DayFirst => &*DAY_FIRST,
    };
    for (rule, reader) in RULES.iter().chain([slashed]) {
        for captures in rule.captures_iter(text) {
            let Some(candidate) = read(&captures, text, *reader, now) else { continue };
            let clashes = |other: &Found| {
                other.spans.iter().any(|a| candidate.spans.iter().any(|b| a.start < b.end && b.start < a.end))
            };
            if !found.iter().any(clashes) {
                found.push(candidate);
            }
        }
    }
    found
}

fn read(captures: &Captures<'_>, text: &str, reader: Reader, now: NaiveDateTime) -> Option<Found> {
    let whole = captures.get(0)?;
    let Day(date, own_time, precise) = reader(captures, now)?;
    let after = text.get(whole.end()..)?;
    let part = own_time.is_none().then(|| PART.captures(after)).flatten();
    let time = own_time.or_else(|| part_of_day(part.as_ref()?.name("part")?.as_str()));
    let end = whole.end() + part.as_ref().and_then(|part| part.get(0)).map_or(0, |part| part.end());
    let lead = captures.name("lead").map_or("", |lead| lead.as_str());
    let deadline = lead.starts_with("by")
        || lead.starts_with("due")
        || matches!(lead, "before" | "until" | "till" | "no later than" | "within" | "latest");
    let span = whole.start()..end;
    Some(Found { spans: vec![span], date, time, deadline, precise })
}

pub(super) fn day(date: NaiveDate) -> Day {
    Day(date, None, true)
}

pub(super) fn roughly(date: NaiveDate) -> Day {
    Day(date, None, false)
}

pub(super) fn group<'t>(captures: &Captures<'t>, name: &str) -> &'t str {
    captures.name(name).map_or("", |found| found.as_str())
}

/// When the parts of a day are.
fn part_of_day(part: &str) -> Option<NaiveTime> {
    let (hour, minute) = match part {
        "morning" => (9, 0),
        "afternoon" => (15, 0),
        "evening" => (19, 0),
        "lunchtime" => (12, 30),
        _ => (20, 0),
    };
    NaiveTime::from_hms_opt(hour, minute, 0)
}

fn this_part(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let part = group(captures, "part").trim_start_matches("this").trim();
    Some(Day(now.date(), part_of_day(part), true))
}

fn weeks_from(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let from = match group(captures, "from") {
        "today" | "now" => now.date(),
        "tomorrow" => now.date() + Duration::days(1),
        name => following(now.date(), weekday(name)?),
    };
    Some(day(from + Duration::weeks(number(group(captures, "n"))?)))
}

fn ahead(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let written = group(captures, "n").trim_start_matches("the ").trim();
    let half = written.starts_with("half");
    let count = if half { 0 } else { number(written)? };
    let plus_half = half || captures.name("half").is_some();
    let today = now.date();
    let (length, exact) = match group(captures, "unit") {
        "minute" => (Duration::minutes(count), true),
        "hour" => (Duration::minutes(60 * count + if plus_half { 30 } else { 0 }), true),
        "day" => (Duration::days(count), false),
        "week" => (Duration::days(7 * count + if plus_half { 3 } else { 0 }), false),
        "month" => return today.checked_add_months(chrono::Months::new(u32::try_from(count).ok()?)).map(day),
        _ => {
            return today
                .checked_add_months(chrono::Months::new(u32::try_from(12 * count).ok()?))
                .map(roughly);
        }
    };
    let moment = now.checked_add_signed(length)?;
    let time = NaiveTime::from_hms_opt(moment.hour(), moment.minute(), 0).filter(|_| exact);
    Some(Day(moment.date(), time, true))
}

/// 1 for "next", else 0.
pub(super) fn steps(captures: &Captures<'_>) -> u32 {
    u32::from(group(captures, "which") == "next")
}

fn month_day(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let year = group(captures, "y").parse().ok();
    of_year(now.date(), year, month(group(captures, "month"))?, ordinal(group(captures, "d"))?).map(day)
}

/// As the rule's order has it; the other way round where only that is a date.
fn numeric(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let year = group(captures, "y").parse().ok();
    let (first, second) = (group(captures, "m").parse().ok()?, group(captures, "d").parse().ok()?);
    of_year(now.date(), year, first, second).or_else(|| of_year(now.date(), year, second, first)).map(day)
}

fn nth(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    day_of_month(now.date(), group(captures, "d").parse().ok()?).map(day)
}

/// "By March" is its first day, "in March" its last. "By February 30" is neither: it is a day that there is not.
fn whole_month(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    if captures.name("d").is_some() {
        return None;
    }
    let first = of_year(now.date().with_day(1)?, None, month(group(captures, "month"))?, 1)?;
    let lasting = matches!(group(captures, "lead"), "in" | "during");
    if lasting { month_end(first, 0).map(roughly) } else { Some(roughly(first)) }
}

fn on_weekday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let (today, name) = (now.date(), weekday(group(captures, "w"))?);
    let date = match group(captures, "which") {
        "next" => in_week(today, 1, name),
        "this" if today.weekday() == name => today,
        _ => following(today, name),
    };
    let later = if captures.name("week").is_some() { 7 } else { 0 };
    Some(day(date + Duration::days(later)))
}

fn holiday(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let name = group(captures, "name");
    let (month, number) = match name {
        _ if name.starts_with("christmas") => (12, if name.ends_with("eve") { 24 } else { 25 }),
        _ if name.ends_with("eve") => (12, 31),
        _ if name.starts_with("new") => (1, 1),
        "halloween" => (10, 31),
        _ => (2, 14),
    };
    of_year(now.date(), None, month, number).map(day)
}
