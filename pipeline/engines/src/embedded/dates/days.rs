//! Days: one rule per way of naming them.

use std::sync::LazyLock;

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use regex::Captures;

use super::calendar::{day_of_month, following, month, month_end, number, of_year, ordinal, weekday};
use super::day::{Day, day, group, roughly};
use super::holidays::{HOLIDAY, holiday};
use super::periods::{end_of, middle_of, part_of_month, period, season_end, start_of};
use super::relative::{
    after_next, beside_weekday, day_of_named_month, follows, fortnight, nth_week, nth_weekday, on_weekday,
    this_time, weekday_after_next, weekday_fortnight, weekday_in_weeks, weekday_of_week, working_days,
};
use super::{DayOrder, Found};
use crate::embedded::pattern::{Pattern, Rules};
use crate::embedded::text::pattern;

type Reader = fn(&Captures<'_>, NaiveDateTime) -> Option<Day>;

const LEAD: &str = r"(?:\b(?P<lead>by|before|until|till|no later than|due(?: on| by)?|on|for|in|at|over|during|around|starting|latest|from|between)\s+(?:the\s+)?)?";
const WEEKDAY: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";
const SHORT_WEEKDAY: &str = r"mon|tues?|weds?|thurs?|thu|fri|sat|sun";
const MONTH: &str = r"january|february|march|april|may|june|july|august|september|october|november|december|jan\.?|feb\.?|mar\.?|apr\.?|jun\.?|jul\.?|aug\.?|sept?\.?|oct\.?|nov\.?|dec\.?";
/// A weekday that stands before a full date adds nothing to it.
const DAY_NAME: &str = r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?";
const ORDINAL: &str = r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth";
/// Without those that are as often no day: "this is the first".
const LATER_ORDINAL: &str = r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth";
pub(super) const NUMBER: &str = r"an?|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|\d{1,3}|(?:an?\s+|the\s+)?(?:couple|few)(?:\s+of)?";

/// In order of preference: what an earlier rule took, a later one does not see.
static RULES: LazyLock<Rules<Reader>> = LazyLock::new(|| {
    let rule = |body: String, reader: Reader| (format!("{LEAD}{body}"), reader);
    Rules::new([
        rule(HOLIDAY.into(), holiday),
        rule(format!(r"\b(?P<w>{WEEKDAY})\s+in\s+(?P<n>{NUMBER})\s+weeks?\b"), weekday_in_weeks),
        rule(r"\b(?:the\s+)?day\s+after\s+tomorrow\b".into(), |_, now| Some(day(now.date() + Duration::days(2)))),
        rule(format!(r"\b(?:(?P<n>{NUMBER})\s+)?(?P<unit>week|fortnight)s?\s+(?:from\s+|on\s+)?(?P<from>today|now|tomorrow|{WEEKDAY})\b"), weeks_from),
        rule(format!(r"\b(?P<w>{WEEKDAY}|today|tomorrow)\s+fortnight\b"), weekday_fortnight),
        rule(r"\b(?:today|tomorrow)\s+week\b".into(), |found, now| Some(day(now.date() + Duration::days(if found[0].contains("tomorrow") { 8 } else { 7 })))),
        rule(format!(r"\b(?P<n>half\s+an?|{NUMBER})(?P<half>\s+and\s+a\s+half)?\s+(?P<unit>minute|hour|day|week|month|year)s?\s+from\s+(?P<from>now|today|tomorrow|{WEEKDAY})\b"), ahead),
        (
            format!(
                r"\b(?:(?P<lead>within|in|over)\s+(?:about\s+|around\s+)?(?:the\s+next\s+)?|the\s+next\s+)(?P<n>half\s+an?|{NUMBER})(?P<half>\s+and\s+a\s+half)?\s+(?P<unit>minute|hour|day|week|month|year)s?\b(?P<later>\s+and\s+a\s+half)?"
            ),
            ahead,
        ),
        (r"\b(?P<lead>within|in)\s+(?:about\s+)?(?P<quarters>the|an?\s+quarter\s+of\s+an|three\s+quarters\s+of\s+an)\s+hour\b".into(), quarters_ahead),
        rule(r"\b(?:an?\s+|one\s+)?fortnight\b".into(), fortnight),
        rule(format!(r"\bnot\s+(?:this|the\s+coming)\s+(?P<w>{WEEKDAY})[,\s]+(?:but\s+)?(?:the\s+)?(?:one\s+after(?:\s+(?:that|it))?|next(?:\s+one)?|following(?:\s+one)?)\b"), weekday_after_next),
        rule(format!(r"\b(?:the\s+)?day\s+(?P<side>after|before)\s+(?P<w>{WEEKDAY})\b"), beside_weekday),
        rule(r"\b(?:in|within)\s+(?:the\s+next\s+)?(?P<n>\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty)\s+(?:working|business|work)\s+days\b".into(), working_days),
        rule(format!(r"\b(?P<w>{WEEKDAY}|weekend)\s+after\s+next\b"), weekday_after_next),
        rule(format!(r"\b(?:the\s+)?(?:following\s+(?P<follows>{WEEKDAY})|(?P<followed>{WEEKDAY})\s+after(?:\s+that)?(?P<after>$|[.,;!?]|\s+(?:so|and|at)\b))"), on_weekday),
        rule(format!(r"\b(?P<w>{WEEKDAY}),?\s+(?:of\s+|in\s+)?(?:the\s+)?(?P<which>this|next)\s+week\b"), weekday_of_week),
        rule(format!(r"\b(?P<which>this|next)\s+week(?:'s)?,?\s+(?:(?:say|maybe|perhaps|ideally|probably|preferably),?\s+)?(?:on\s+)?(?P<w>{WEEKDAY})\b"), weekday_of_week),
        rule(format!(r"\bthis\s+time\s+(?:on\s+)?(?:(?P<unit>next\s+week|tomorrow)|(?P<w>{WEEKDAY}))\b"), this_time),
        rule(r"\b(?P<unit>week|month)\s+after\s+next\b".into(), after_next),
        rule(format!(r"\b(?P<d>first|second|third|fourth|last)\s+(?P<w>{WEEKDAY})\s+(?:of|in)\s+(?:(?:the|(?P<which>this|next))\s+month|(?P<month>{MONTH}))(?:\b|$)"), nth_weekday),
        rule(format!(r"\b(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+of\s+(?P<which>this|next)\s+month\b"), day_of_named_month),
        rule(format!(r"\b(?:end|last\s+day|close)\s+of\s+(?:the\s+)?(?P<which>this|next)?\s*(?P<unit>week|month|quarter|year|{MONTH})\b"), end_of),
        rule(r"\bend\s+of\s+(?:the\s+)?(?P<season>spring|summer|autumn|fall|winter)\b".into(), season_end),
        rule(format!(r"\b(?P<d>first|second|third|fourth|last)\s+week\s+(?:of|in)\s+(?:(?P<which>this|next)\s+month|(?P<month>{MONTH}))(?:\b|$)"), nth_week),
        rule(r"\b(?P<which>this|next)?\s*(?P<unit>month|week|year|quarter)(?:'s)?[\s-]end\b".into(), end_of),
        rule(r"\b(?:early|start\s+of|beginning\s+of|first\s+thing)\s+(?:in\s+)?(?:the\s+)?(?P<which>this|next)\s+(?P<unit>week|month|year)\b".into(), start_of),
        rule(format!(r"\b(?P<part>early|late|start\s+of|beginning\s+of)\s+(?:in\s+)?(?P<month>{MONTH})(?:\b|$)"), part_of_month),
        rule(format!(r"\b(?:mid(?:dle\s+of)?)[\s-](?:the\s+)?(?P<which>this|next)?\s*(?P<unit>week|month|{MONTH})\b"), middle_of),
        rule(r"\b(?:late(?:r)?\s+)?(?P<which>this|next|the)\s+(?P<unit>weekend|week|month|quarter|year)\b".into(), period),
        // "From the fourteenth to the sixteenth of June" begins on the former.
        rule(format!(r"{DAY_NAME}\b(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+(?:to|until|till|through|and)\s+(?:the\s+)?(?:\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{MONTH})(?:,?\s+(?P<y>(?:1[5-9]|20)\d\d))?(?:\b|$)"), month_day),
        (format!(r"\b(?P<lead>on|for|from|between)\s+the\s+(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{ORDINAL}))\s+(?:to|until|till|through|and)\s+the\s+(?:\d{{1,2}}(?:st|nd|rd|th)|{ORDINAL})(?P<after>$|[.,;!?]|\s+(?:so|and|but|if|because|with|we|i|then)\b)"), nth),
        rule(format!(r"{DAY_NAME}\b(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{MONTH})(?:,?\s+(?P<y>(?:1[5-9]|20)\d\d))?(?:\b|$)"), month_day),
        rule(format!(r"{DAY_NAME}\b(?P<month>{MONTH})\s+(?:the\s+)?(?P<d>\d{{1,2}}|{ORDINAL})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y>(?:1[5-9]|20)\d\d)\b)?"), month_day),
        rule(r"\b(?P<y>20\d\d)-(?P<m>\d{2})-(?P<d>\d{2})\b".into(), numeric),
        rule(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>20\d\d)\b".into(), numeric),
        rule(format!(r"\b(?:{WEEKDAY}),?\s+(?:the\s+)?(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{ORDINAL}))\b"), nth),
        (format!(r"(?:\b(?P<lead>by|before|until|till|due(?: on| by)?|on|for|from|between|of)|#\s+to|\b(?:moved|postponed|pushed\s+back|shifted|rescheduled|changed)\s+to)\s+the\s+(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)\b|(?P<word>{ORDINAL})(?P<after>$|[.,;!?]|\s+(?:at|to\s+the|until|till|by|and|or|so|if|because|please|latest|which|but|then|when|with|for|we|i|it|you|he|she|they|is|are|in\s+the)\b))"), nth),
        // "The hearing is the 24th", "next appointment the sixteenth at nine".
        (format!(r"(?:\b(?:is|are|now|appointment|meeting|session|lesson|visit|exam|class)|'s)\s+(?P<begins>the\s+(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)\b|(?P<word>{LATER_ORDINAL})(?P<after>$|[.,;!?]|\s+(?:at|and|or|so|if|because|but|then|with|for|we|i)\b)))"), nth),
        (r"\bis\s+(?P<begins>(?P<w>mon|tues?|weds?|thurs?|fri))\b".into(), on_weekday),
        (format!(r"\b(?P<lead>by|before|until|in|during)\s+(?:early\s+|late\s+|mid-?)?(?P<month>{MONTH})(?:\b|$)(?:\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\b|$))?"), whole_month),
        rule(format!(r"\b(?:(?P<which>next|this|coming|this\s+coming)\s+)?(?P<w>{WEEKDAY})(?P<week>\s+week)?\b(?:\s+coming\b)?"), on_weekday),
        (format!(r"\b(?P<lead>by|before|until|on|due)\s+(?:(?P<which>next|this)\s+)?(?P<w>{SHORT_WEEKDAY})\b"), on_weekday),
        (r"\b(?P<w>mon|tues?|weds|thurs?|fri)(?P<after>\s+(?:at|@|by|morning|afternoon|evening|night|\d))".into(), on_weekday),
        rule(r"\b(?:tomorrow|tmrw|tmr|tomoz)\b".into(), |_, now| Some(day(now.date() + Duration::days(1)))),
        rule(r"\b(?P<part>tonight|this\s+(?:morning|afternoon|evening))\b".into(), this_part),
        rule(r"\b(?:later\s+)?today\b".into(), |_, now| Some(day(now.date()))),
        rule(slashed("m", "d"), numeric),
        rule(slashed("d", "m"), numeric),
    ])
});

/// A day with strokes; the last two rules read one of the two orders each.
fn slashed(first: &str, second: &str) -> String {
    format!(r"\b(?P<{first}>\d{{1,2}})/(?P<{second}>\d{{1,2}})(?:/(?P<y>\d{{2,4}}))?\b")
}

/// One of these begins a word of every rule's: most sentences have none, and need no rule.
static NAMES_A_DAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"\d|\b(?:day|week|fortnight|month|mid|year|quarter|hour|minute|now|today|tomorrow|tmr|tomoz|tonight|morning|afternoon|evening|night|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|first|second|third|four|fif|six|seven|eigh|nin|ten|eleven|twel|thirt|twent|christmas|boxing|new|halloween|bonfire|valentine|st|independence|labor|memorial|thanksgiving|good|palm|ash|easter|ascension|whit|pentecost)",
    )
});

/// A part of the day right after its day: "Monday morning".
static PART: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^,?\s+(?:(?:in\s+the\s+|at\s+)?(?P<part>morning|afternoon|evening|night|lunchtime)\b|first\s+thing\b)",
    )
});

/// What may stand right before a day: a part of it, or that the day before it is meant.
static BEFORE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?:\b(?:the\s+)?(?P<eve>day)\s+|\b(?:(?:on|in)\s+)?the\s+(?P<part>morning|afternoon|evening|night)\s+|\b(?P<first>first\s+thing)\s+(?:on\s+)?)$",
    )
});

/// Every day that `text` (lower case, past masked) names, without overlaps.
pub(super) fn find(text: &str, now: NaiveDateTime, order: DayOrder) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    if !NAMES_A_DAY.is_match(text) {
        return found;
    }
    let not_in_order = match order {
        DayOrder::MonthFirst => RULES.len() - 1,
        DayOrder::DayFirst => RULES.len() - 2,
    };
    for (at, rule, reader) in RULES.matching(text) {
        if at == not_in_order {
            continue;
        }
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
    let is_feast = |date: &Found, named: &Pattern| {
        date.spans.first().and_then(|span| text.get(span.start..)).is_some_and(|rest| named.is_match(rest))
    };
    let is_meal_alone = !found.iter().any(|date| !is_feast(date, &MEAL_OF_FEAST));
    found.retain(|date| !is_feast(date, &OF_FEAST) && (is_meal_alone || !is_feast(date, &MEAL_OF_FEAST)));
    found
}

/// "The Christmas party": what is named after a feast is not on it.
static OF_FEAST: LazyLock<Pattern> = LazyLock::new(|| {
    of_feast(
        "part(?:y|ies)|do|market|fair|f[eê]te|concert|play|show|carols?|tree|lights|decorations|cards?|presents?|gifts?|shopping|holidays?|break|sale|quiz|jumper|menu|bonus|leave|schedule|orders?|stock|pudding|cake|eggs?|hunt|dance|ball|raffle|event|campaign|term|rush|closing|reception",
    )
});
/// "Christmas dinner" is, unless another day is said.
static MEAL_OF_FEAST: LazyLock<Pattern> =
    LazyLock::new(|| of_feast("dinner|lunch|breakfast|brunch|meal|drinks|service"));

fn of_feast(what: &str) -> Pattern {
    pattern(&format!(
        r"^(?:(?:by|before|until|till|on|for|in|at|over|during|around|from)\s+)?(?:the\s+)?(?:christmas|easter|halloween|thanksgiving|new\s+year's|new\s+year|valentine's)\s+(?:{what})\b"
    ))
}

fn read(captures: &Captures<'_>, text: &str, reader: Reader, now: NaiveDateTime) -> Option<Found> {
    let whole = captures.get(0)?;
    let end = captures.name("after").map_or(whole.end(), |after| after.start()).max(whole.start());
    let Day(mut date, mut time, precise) = reader(captures, now)?;
    let lead = captures.name("lead").map_or("", |lead| lead.as_str());
    let mut deadline = lead.starts_with("by")
        || lead.starts_with("due")
        || matches!(lead, "before" | "until" | "till" | "no later than" | "within" | "latest");
    let part = time.is_none().then(|| PART.captures(text.get(end..)?)).flatten();
    let end = end + part.as_ref().and_then(|part| part.get(0)).map_or(0, |part| part.end());
    time = time.or_else(|| part_of_day(part.as_ref()?.name("part").map_or("morning", |part| part.as_str())));
    let mut start = captures.name("begins").map_or(whole.start(), |begins| begins.start());
    let from = text.floor_char_boundary(start.saturating_sub(24));
    if let Some(said) = BEFORE.captures(text.get(from..start)?) {
        let begins = from + said.get(0)?.start();
        if said.name("first").is_none() && lead == "before" {
            (date, deadline, start) = (date.pred_opt()?, false, begins);
        } else if said.name("first").is_some() {
            (time, start) = (time.or_else(|| part_of_day("morning")), begins);
        } else if let Some(part) = said.name("part").filter(|_| lead == "of") {
            (time, start) = (time.or_else(|| part_of_day(part.as_str())), begins);
        }
    }
    let follows = follows(captures).and_then(|name| weekday(name.as_str()));
    let span = start..end;
    Some(Found {
        spans: vec![span],
        date,
        time,
        deadline,
        precise,
        exact: false,
        bare: false,
        until: None,
        follows,
        month_said: captures.name("month").is_some_and(|month| !month.as_str().is_empty()) && precise,
        month_open: ["d", "word"].iter().any(|day| captures.name(day).is_some())
            && ["month", "m", "w", "which"].iter().all(|part| captures.name(part).is_none())
            && !whole.as_str().contains("day"),
    })
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

/// The day that "from Friday" or "on Friday" counts from.
fn counted_from(name: &str, today: NaiveDate) -> Option<NaiveDate> {
    match name {
        "today" | "now" => Some(today),
        "tomorrow" => today.succ_opt(),
        name => Some(following(today, weekday(name)?)),
    }
}

/// "A week on Tuesday", "two weeks from today", "a fortnight on Friday".
fn weeks_from(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let count = match group(captures, "n") {
        // "Week on Friday" alone is no date, and "fortnight today" is.
        "" if group(captures, "unit") == "week" => return None,
        "" => 1,
        written => number(written)?,
    };
    let weeks = if group(captures, "unit") == "week" { count } else { 2 * count };
    counted_from(group(captures, "from"), now.date())?.checked_add_signed(Duration::weeks(weeks)).map(day)
}

fn ahead(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let written = group(captures, "n").trim_start_matches("the ").trim();
    let half = written.starts_with("half");
    let count = if half { 0 } else { number(written)? };
    let plus_half = half || captures.name("half").or_else(|| captures.name("later")).is_some();
    let today = match group(captures, "from") {
        "" => now.date(),
        from => counted_from(from, now.date())?,
    };
    let months = |months: i64| today.checked_add_months(chrono::Months::new(u32::try_from(months).ok()?));
    let extra = |length: i64| if plus_half { length } else { 0 };
    let length = match group(captures, "unit") {
        "minute" => Duration::minutes(count),
        "hour" => Duration::minutes(60 * count + extra(30)),
        "day" => return today.checked_add_signed(Duration::days(count)).map(day),
        "week" => return today.checked_add_signed(Duration::days(7 * count + extra(3))).map(day),
        "month" => return months(count)?.checked_add_signed(Duration::days(extra(15))).map(day),
        _ => return months(12 * count + extra(6)).map(roughly),
    };
    Some(at_moment(now.checked_add_signed(length)?))
}

/// "Within the hour", "in a quarter of an hour", "in three quarters of an hour".
fn quarters_ahead(captures: &Captures<'_>, now: NaiveDateTime) -> Option<Day> {
    let minutes = match group(captures, "quarters") {
        "the" => 60,
        written if written.starts_with("three") => 45,
        _ => 15,
    };
    now.checked_add_signed(Duration::minutes(minutes)).map(at_moment)
}

fn at_moment(moment: NaiveDateTime) -> Day {
    Day(moment.date(), NaiveTime::from_hms_opt(moment.hour(), moment.minute(), 0), true)
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
    let written = captures.name("d").or_else(|| captures.name("word"))?.as_str();
    day_of_month(now.date(), ordinal(written)?).map(day)
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
