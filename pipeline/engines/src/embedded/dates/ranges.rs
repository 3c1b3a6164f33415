//! Spans of time that a question names: "yesterday", "the last two weeks", "6 hours ago", "in October", "between Monday and
//! Wednesday". Where a day could lie on either side of now, the direction of the question decides.

use std::ops;
use std::sync::LazyLock;

use chrono::{Datelike, Duration, Months, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use records::Timestamp;
use regex::Captures;

use super::Reference;
use super::calendar::{in_week, month, month_start, number, ordinal, weekday};
use crate::embedded::pattern::{Pattern, ascii};
use crate::embedded::text::pattern;

/// Where a day without further words is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum Direction {
    /// What was: "on Monday" is the last one.
    Past,
    /// What is to come: "on Monday" is the next one.
    Future,
}

/// A span of time, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Span {
    /// Its first moment.
    pub(in crate::embedded) start: Timestamp,
    /// The first moment behind it.
    pub(in crate::embedded) end: Timestamp,
    /// The bytes of the text that name it.
    pub(in crate::embedded) named: ops::Range<usize>,
    /// How many days it covers, begun ones included.
    pub(in crate::embedded) days: i64,
}

/// A span by the wall clock.
type Local = (NaiveDateTime, NaiveDateTime);

type Reader = fn(&Captures<'_>, NaiveDateTime, Direction) -> Option<Local>;

const WEEKDAY: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";
const MONTH: &str = "january|february|march|april|may|june|july|august|september|october|november|december";
const MONTH_OR_SHORT: &str = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec";
const NUMBER: &str = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|sixty|ninety|\d{1,3}|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few";
const ORDINAL: &str = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth";
const PART: &str =
    r"(?:\s+(?:in\s+the\s+|at\s+)?(?P<part>morning|noon|lunchtime|lunch|afternoon|evening|night))?";

/// In order of preference: the first rule that finds something is believed.
static RULES: LazyLock<Vec<(Pattern, Reader)>> = LazyLock::new(|| {
    let rule = |body: String, reader: Reader| (pattern(&body), reader);
    vec![
        rule(r"\b(?:the\s+)?day\s+before\s+yesterday\b".into(), |_, now, _| {
            day(now.date() - Duration::days(2), None)
        }),
        rule(r"\b(?:the\s+)?day\s+after\s+tomorrow\b".into(), |_, now, _| {
            day(now.date() + Duration::days(2), None)
        }),
        rule(r"\blast\s+night\b".into(), |_, now, _| day(now.date() - Duration::days(1), Some("night"))),
        rule(format!(r"\byesterday{PART}\b"), |found, now, _| {
            day(now.date() - Duration::days(1), part(found))
        }),
        rule(format!(r"\btomorrow{PART}\b"), |found, now, _| {
            day(now.date() + Duration::days(1), part(found))
        }),
        rule(
            r"\b(?:this\s+(?P<part>morning|afternoon|evening)|(?P<tonight>tonight))\b".into(),
            |found, now, _| day(now.date(), part(found).or(Some("evening"))),
        ),
        rule(
            format!(r"\b(?P<n>half\s+an|{NUMBER})\s+(?P<unit>minute|hour|day|week|month|year)s?\s+ago\b"),
            ago,
        ),
        rule(
            format!(
                r"\b(?:last|past|previous)\s+(?P<n>{NUMBER}|24)\s+(?P<unit>minute|hour|day|week|month|year)s?\b"
            ),
            lately,
        ),
        rule(
            format!(r"\b(?:next|coming|following)\s+(?P<n>{NUMBER})\s+(?P<unit>hour|day|week|month)s?\b"),
            soon,
        ),
        rule(r"\b(?:the|my|in|over|during)\s+past\s+(?P<unit>hour|day|week|month|year)\b".into(), lately),
        rule(
            format!(r"\b(?P<which>last|past|previous|this|next|coming)\s+(?P<w>{WEEKDAY}){PART}\b"),
            named_weekday,
        ),
        rule(format!(r"\b(?P<which>last|this|next)\s+(?P<month>{MONTH})\b"), named_month),
        // "The last week of October" is not last week.
        rule(
            format!(
                r"\b(?P<nth>first|second|third|fourth|last|beginning|start|middle|end)(?:\s+(?P<week>week))?\s+(?:of|in)\s+(?P<month>{MONTH})(?:\s+(?P<y>20\d\d))?\b"
            ),
            part_of_month,
        ),
        rule(
            r"\b(?P<which>last|past|previous|this|next|coming)\s+(?P<unit>weekend|week|month|quarter|year)\b"
                .into(),
            period,
        ),
        // "Summarize my week."
        rule(r"\b(?P<which>my)\s+(?P<unit>week|month|year)\b".into(), period),
        rule(r"\b(?:over|on|at|during)\s+the\s+weekend\b".into(), weekend),
        rule(r"\b(?P<y>20\d\d)-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b".into(), numeric),
        rule(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>20\d\d)\b".into(), numeric),
        rule(
            format!(
                r"\b(?P<month>{MONTH_OR_SHORT})\.?\s+(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y>20\d\d)\b)?{PART}"
            ),
            month_day,
        ),
        rule(
            format!(
                r"\b(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{MONTH_OR_SHORT})\b(?:,?\s+(?P<y>20\d\d)\b)?{PART}"
            ),
            month_day,
        ),
        rule(
            format!(r"\b(?:in|during|for|of|since|throughout)\s+(?P<month>{MONTH})(?:\s+(?P<y>20\d\d))?\b"),
            whole_month,
        ),
        rule(format!(r"^(?P<month>{MONTH})\W*$"), whole_month),
        rule(format!(r"\b(?P<month>{MONTH})\s+(?P<y>20\d\d)\b"), whole_month),
        rule(r"\b(?:in|during|of)\s+(?P<y>20\d\d)\b".into(), |found, _, _| year(found["y"].parse().ok()?)),
        rule(r"\bon\s+the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b".into(), nth),
        rule(format!(r"\b(?P<w>{WEEKDAY}){PART}\b"), named_weekday),
        rule(format!(r"\btoday{PART}\b"), |found, now, _| day(now.date(), part(found))),
    ]
});

/// "Between A and B", "from A to B".
static BETWEEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"\b(?:between|from)\s+(?P<a>.{3,40}?)\s+(?:and|to|until|till|through)\s+(?P<b>.{3,40})")
});
static SINCE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\bsince\s+$"));
/// "By Friday", "before Monday": what leads up to a day.
static UP_TO: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\b(?P<up>by|until|till|before)\s+(?:the\s+)?$"));

impl Reference {
    /// The span of time that `text` names; `None`: it names none.
    pub(in crate::embedded) fn span(&self, text: &str, direction: Direction) -> Option<Span> {
        let text = ascii(text).to_ascii_lowercase();
        if let Some(found) = BETWEEN.captures(&text)
            && let (Some((a, _)), Some((b, b_named))) =
                (self.first(&found["a"], direction), self.first(&found["b"], direction))
            && a.0 < b.1
        {
            let whole = found.get(0)?;
            let end = found.name("b")?.start() + b_named.end;
            return self.span_of((a.0, b.1), whole.start()..end);
        }
        let (local, named) = self.first(&text, direction)?;
        let before = text.get(..named.start).unwrap_or_default();
        if let Some(since) = SINCE.find(before) {
            return self.span_of((local.0, self.now), since.start()..named.end);
        }
        match UP_TO.captures(before) {
            Some(up) if direction == Direction::Future => {
                let end = if &up["up"] == "before" { local.0 } else { local.1 };
                let start = up.get(0).map_or(named.start, |up| up.start());
                self.span_of((self.now.min(end), end), start..named.end)
            }
            _ => self.span_of(local, named),
        }
    }

    fn first(&self, text: &str, direction: Direction) -> Option<(Local, ops::Range<usize>)> {
        RULES.iter().find_map(|(rule, reader)| {
            let found = rule.captures(text)?;
            let local = reader(&found, self.now, direction)?;
            Some((local, found.get(0)?.range()))
        })
    }

    fn span_of(&self, (start, end): Local, named: ops::Range<usize>) -> Option<Span> {
        let days = (end - Duration::seconds(1)).date().signed_duration_since(start.date()).num_days() + 1;
        Some(Span { start: self.to_utc(start)?, end: self.to_utc(end)?, named, days })
    }
}

fn part<'c>(found: &'c Captures<'_>) -> Option<&'c str> {
    found.name("part").map(|part| part.as_str())
}

fn midnight(date: NaiveDate) -> NaiveDateTime {
    date.and_time(NaiveTime::MIN)
}

fn between(first: NaiveDate, behind: NaiveDate) -> Option<Local> {
    Some((midnight(first), midnight(behind)))
}

/// A day, or a part of it; a night ends in the morning after.
fn day(date: NaiveDate, part: Option<&str>) -> Option<Local> {
    let (from, until) = match part {
        None => (0, 24),
        Some("morning") => (4, 12),
        Some("noon" | "lunchtime" | "lunch") => (11, 15),
        Some("afternoon") => (12, 18),
        Some("night") => (18, 28),
        Some(_) => (17, 24),
    };
    Some((midnight(date) + Duration::hours(from), midnight(date) + Duration::hours(until)))
}

fn count(found: &Captures<'_>) -> Option<i64> {
    match found.name("n").map(|n| n.as_str().trim()) {
        None => Some(1),
        Some("few") => Some(3),
        Some(words) => number(words),
    }
}

/// A length in one of the units; months and years by the calendar.
fn moved(now: NaiveDateTime, unit: &str, count: i64) -> Option<NaiveDateTime> {
    let months = |count: i64| -> Option<NaiveDateTime> {
        let steps = Months::new(u32::try_from(count.abs()).ok()?);
        if count < 0 { now.checked_sub_months(steps) } else { now.checked_add_months(steps) }
    };
    match unit {
        "minute" => Some(now + Duration::minutes(count)),
        "hour" => Some(now + Duration::hours(count)),
        "day" => Some(now + Duration::days(count)),
        "week" => Some(now + Duration::weeks(count)),
        "month" => months(count),
        _ => months(12 * count),
    }
}

/// "Six hours ago" is about then; "two days ago" is a day.
fn ago(found: &Captures<'_>, now: NaiveDateTime, _: Direction) -> Option<Local> {
    if found["n"].starts_with("half") {
        return Some((now - Duration::minutes(60), now - Duration::minutes(10)));
    }
    let (count, unit) = (count(found)?, &found["unit"]);
    let then = moved(now, unit, -count)?;
    match unit {
        "minute" => {
            let slack = Duration::minutes(5.max(count / 3));
            Some((then - slack, (then + slack).min(now)))
        }
        "hour" => Some((then - Duration::hours(1), (then + Duration::hours(1)).min(now))),
        "day" => day(then.date(), None),
        "week" => between(in_week(then.date(), 0, Weekday::Mon), in_week(then.date(), 1, Weekday::Mon)),
        "month" => between(month_start(then.date(), 0)?, month_start(then.date(), 1)?),
        _ => year(then.year()),
    }
}

/// "The last 30 days" end now.
fn lately(found: &Captures<'_>, now: NaiveDateTime, _: Direction) -> Option<Local> {
    let begun = moved(now, &found["unit"], -count(found)?)?;
    Some((begun, now + Duration::minutes(1)))
}

fn soon(found: &Captures<'_>, now: NaiveDateTime, _: Direction) -> Option<Local> {
    let end = moved(now, &found["unit"], count(found)?)?;
    let end = if &found["unit"] == "hour" { end } else { midnight(end.date() + Duration::days(1)) };
    Some((now, end))
}

/// "Last Monday" is the one of the week before, where this week's is over too.
fn named_weekday(found: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let (today, wanted) = (now.date(), weekday(&found["w"])?);
    let of_week = |weeks| in_week(today, weeks, wanted);
    let this = of_week(0);
    let date = match found.name("which").map(|which| which.as_str()) {
        Some("last" | "past" | "previous") => of_week(-1),
        Some("next") => of_week(1),
        Some("this") => this,
        Some(_) => {
            if this > today {
                this
            } else {
                of_week(1)
            }
        }
        None if direction == Direction::Past => {
            if this < today {
                this
            } else {
                of_week(-1)
            }
        }
        None => {
            if this > today {
                this
            } else {
                of_week(1)
            }
        }
    };
    day(date, part(found))
}

fn period(found: &Captures<'_>, now: NaiveDateTime, _: Direction) -> Option<Local> {
    let today = now.date();
    let step: i32 = match &found["which"] {
        "this" | "my" => 0,
        "next" | "coming" => 1,
        _ => -1,
    };
    let month_at = |months: i32| -> Option<NaiveDate> {
        let first = today.with_day(1)?;
        let steps = Months::new(months.unsigned_abs());
        if months < 0 { first.checked_sub_months(steps) } else { first.checked_add_months(steps) }
    };
    match &found["unit"] {
        "week" => between(
            in_week(today, i64::from(step), Weekday::Mon),
            in_week(today, i64::from(step) + 1, Weekday::Mon),
        ),
        "weekend" => between(
            in_week(today, i64::from(step), Weekday::Sat),
            in_week(today, i64::from(step) + 1, Weekday::Mon),
        ),
        "month" => between(month_at(step)?, month_at(step + 1)?),
        "quarter" => {
            let into = i32::try_from(today.month0() % 3).ok()?;
            between(month_at(3 * step - into)?, month_at(3 * step - into + 3)?)
        }
        _ => year(today.year() + step),
    }
}

/// The one that is over or runs, or the one that runs or comes.
fn weekend(_: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let today = now.date();
    let runs = today >= in_week(today, 0, Weekday::Sat);
    let week = if direction == Direction::Past && !runs { -1 } else { 0 };
    between(in_week(today, week, Weekday::Sat), in_week(today, week + 1, Weekday::Mon))
}

fn year(year: i32) -> Option<Local> {
    between(NaiveDate::from_ymd_opt(year, 1, 1)?, NaiveDate::from_ymd_opt(year + 1, 1, 1)?)
}

fn numeric(found: &Captures<'_>, _: NaiveDateTime, _: Direction) -> Option<Local> {
    let part = |name: &str| found[name].parse::<u32>().ok();
    day(NaiveDate::from_ymd_opt(found["y"].parse().ok()?, part("m")?, part("d")?)?, None)
}

/// The year in which a month lies, where none is named: the last or the next one, by the direction.
fn year_of(
    found: &Captures<'_>,
    now: NaiveDateTime,
    direction: Direction,
    first: impl Fn(i32) -> Option<NaiveDate>,
) -> Option<NaiveDate> {
    if let Some(year) = found.name("y") {
        return first(year.as_str().parse().ok()?);
    }
    let this = now.year();
    match direction {
        Direction::Past => [this, this - 1].into_iter().filter_map(first).find(|date| *date <= now.date()),
        Direction::Future => [this, this + 1].into_iter().filter_map(first).find(|date| *date >= now.date()),
    }
}

fn month_day(found: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let (month, number) = (month(&found["month"])?, ordinal(&found["d"])?);
    // A date without a year may be a few days off on the other side.
    let of = |year| NaiveDate::from_ymd_opt(year, month, number);
    day(year_of(found, now, direction, of).or_else(|| of(now.year()))?, part(found))
}

fn whole_month(found: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let month = month(&found["month"])?;
    let first = match direction {
        // The month that runs counts for both sides.
        Direction::Future if month == now.month() && found.name("y").is_none() => now.date().with_day(1)?,
        _ => year_of(found, now, direction, |year| NaiveDate::from_ymd_opt(year, month, 1))?,
    };
    between(first, month_start(first, 1)?)
}

/// "The first week of November" is its first seven days, "the end of May" its last ten.
fn part_of_month(found: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let (first, behind) = whole_month(found, now, direction)?;
    let from = |day: i64| first + Duration::days(day - 1);
    let is_week = found.name("week").is_some();
    match &found["nth"] {
        "last" if is_week => Some((behind - Duration::days(7), behind)),
        "first" if is_week => Some((first, from(8))),
        "second" if is_week => Some((from(8), from(15))),
        "third" if is_week => Some((from(15), from(22))),
        "fourth" if is_week => Some((from(22), from(29))),
        "beginning" | "start" if !is_week => Some((first, from(11))),
        "middle" if !is_week => Some((from(11), from(21))),
        "end" if !is_week => Some((behind - Duration::days(10), behind)),
        _ => None,
    }
}

fn named_month(found: &Captures<'_>, now: NaiveDateTime, _: Direction) -> Option<Local> {
    let month = month(&found["month"])?;
    let of = |year| NaiveDate::from_ymd_opt(year, month, 1);
    let this = of(now.year())?;
    let running = month == now.month();
    let first = match &found["which"] {
        "last" if this > now.date() || running => of(now.year() - 1)?,
        "next" if this <= now.date() => of(now.year() + 1)?,
        _ => this,
    };
    between(first, month_start(first, 1)?)
}

/// "On the 13th": of this month, or of the one before or behind it.
fn nth(found: &Captures<'_>, now: NaiveDateTime, direction: Direction) -> Option<Local> {
    let number = found["d"].parse().ok()?;
    let first = now.date().with_day(1)?;
    let months = |steps: i32| {
        let by = Months::new(steps.unsigned_abs());
        let month = if steps < 0 { first.checked_sub_months(by) } else { first.checked_add_months(by) };
        month?.with_day(number)
    };
    let date = match direction {
        Direction::Past => [0, -1, -2].into_iter().filter_map(months).find(|date| *date <= now.date()),
        Direction::Future => [0, 1, 2].into_iter().filter_map(months).find(|date| *date >= now.date()),
    };
    day(date?, None)
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
