//! Times of day.

use std::ops::Range;
use std::sync::LazyLock;

use chrono::{NaiveTime, TimeDelta, Timelike};
use regex::Captures;

use super::calendar::number;
use crate::embedded::pattern::{Pattern, Rules};
use crate::embedded::text::pattern;

/// A time of day that a text names.
pub(super) struct Clock {
    /// Its bytes, the preposition included.
    pub(super) span: Range<usize>,
    /// The time.
    pub(super) at: NaiveTime,
    /// The end of "from ten to four".
    pub(super) until: Option<NaiveTime>,
    /// Said with "am", "in the evening" or all 24 hours: a part of the day does not move it.
    pub(super) exact: bool,
    /// Stands after "at", "by" and the like: only then does it count without a day.
    pub(super) introduced: bool,
    /// Introduced by "by", "before", "until".
    pub(super) deadline: bool,
}

type Reader = fn(&Captures<'_>) -> Option<NaiveTime>;

const LEAD: &str = r"(?:\b(?P<lead>by|before|until|till|no later than|at|around|from|between|due at|due by)\s+(?:the\s+)?(?:about\s+|around\s+)?)?";
const HOUR_WORD: &str = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";
/// What may follow an hour that nothing else shows to be one.
const AFTER: &str = r"(?P<after>$|[.,;!?]+(?:\s|$)|\s+(?:on|in|this|next|sharp|today|tomorrow|tmrw|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|please|if|with|and|so|then|or|because|but|till|until|for|works?|suits?|ok|okay|is|would|to\s+(?:go|discuss|talk|look|see|review|plan|pick|meet|get|finish|work|do|have|sign|catch|drop|collect|start))\b)";
/// "Three *or four* roofers": the number behind an hour, and what may follow it where it is one, too.
static OR: LazyLock<Pattern> = LazyLock::new(|| pattern(&format!(r"^\s+or\s+(?:\d{{1,2}}|{HOUR_WORD})\b")));
static OF_AN_HOUR: LazyLock<Pattern> =
    LazyLock::new(|| pattern(&format!(r"^(?:{AFTER}|[.:]\d|-?ish\b|\s*[ap]\.?m\b|\s+o'clock\b)")));
/// Minutes after a spoken hour: "seven thirty".
const MINUTE_WORD: &str = r"oh[\s-]five|ten|fifteen|(?:twenty|thirty|forty|fifty)(?:[\s-]five)?";

/// In order of preference: what an earlier rule took, a later one does not see.
static RULES: LazyLock<Rules<Reader>> = LazyLock::new(|| {
    let rule = |body: &str, reader: Reader| (format!("{LEAD}{body}"), reader);
    Rules::new([
        rule(r"\b(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?\s{0,3}(?P<half>[ap])\.?m\b\.?", twelve_hours),
        rule(
            &format!(r"\b(?P<h>{HOUR_WORD})(?:\s+(?P<spoken>{MINUTE_WORD}))?\s+(?P<half>[ap])\.?\s?m\b\.?"),
            twelve_hours,
        ),
        rule(r"\b(?P<h>[01]?\d|2[0-3])[:h](?P<m>[0-5]\d)\b", bare_hours),
        (
            r"\b(?P<lead>at|from|until|before|by)\s+(?P<h>[01]?\d|2[0-3])\.(?P<m>[0-5]\d)(?P<after>$|[\s,;!?]|\.\s|\.$)".into(),
            bare_hours,
        ),
        (r"\b(?P<lead>at|by|until)\s+(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)(?:\s+hours)\b".into(), bare_hours),
        (r"\b(?P<lead>at)\s+(?P<h>0\d|1[0-8]|2[1-3])(?P<m>[0-5]\d)\b".into(), bare_hours),
        rule(
            &format!(
                r"\b(?P<word>half|quarter)\s+(?P<side>past|after|to|till)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})\b"
            ),
            fractions,
        ),
        (
            format!(
                r"\b(?P<lead>from|between)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})(?:\s+o'clock)?\s+(?:to|and|till|until)\s+(?P<until>\d{{1,2}}|{HOUR_WORD})\b{AFTER}"
            ),
            bare_hours,
        ),
        rule(
            &format!(
                r"\b(?P<word>five|ten|twenty|twenty[\s-]five|5|10|20|25)\s+(?:minutes\s+)?(?P<side>past|to|till)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})\b{AFTER}"
            ),
            fractions,
        ),
        rule(&format!(r"\b(?P<word>half)\s+(?P<h>{HOUR_WORD})\b{AFTER}"), fractions),
        rule(&format!(r"\b(?P<h>{HOUR_WORD})\s+(?P<spoken>{MINUTE_WORD})\b"), bare_hours),
        rule(
            r"\b(?:12\s+)?(?P<name>noon|midday|midnight|lunchtime|lunch\s+time|teatime|tea\s+time)\b",
            named,
        ),
        (r"\b(?P<lead>by|before|over|at)\s+(?P<name>lunch|dinner)\b".into(), named),
        rule(
            r"\b(?P<name>(?:close|end)\s+of\s+(?:business|play|work)|cob|eob|end\s+of\s+(?:the\s+)?(?:working\s+|business\s+)?day|eod)\b",
            named,
        ),
        rule(&format!(r"\b(?P<h>\d{{1,2}}|{HOUR_WORD})\s+o'clock\b"), bare_hours),
        (
            format!(
                r"\b(?P<lead>by|before|until|at|around|say|from|@)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})\b{AFTER}"
            ),
            bare_hours,
        ),
        // An hour alone, where a part of the day follows it: the part shows that it is one.
        rule(
            &format!(
                r"\b(?P<h>\d{{1,2}}|{HOUR_WORD})(?P<after>\s+(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b)"
            ),
            bare_hours,
        ),
    ])
});

/// What every rule needs one of.
static NAMES_AN_HOUR: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"\d|\b(?:{HOUR_WORD}|half|quarter|twenty|noon|midday|midnight|lunch|lunchtime|tea|teatime|dinner|close|end|cob|eob|eod)\b"
    ))
});

/// The part of the day right after a time: "half past five in the morning".
static PART: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"^\s+(?:in\s+the\s+(?P<part>morning|afternoon|evening)|at\s+(?P<night>night))\b")
});

/// Every time of day in `text` (lower case), without overlaps.
pub(super) fn find(text: &str) -> Vec<Clock> {
    let mut found: Vec<Clock> = Vec::new();
    if !NAMES_AN_HOUR.is_match(text) {
        return found;
    }
    for (_, rule, reader) in RULES.matching(text) {
        for captures in rule.captures_iter(text) {
            let Some(clock) = read(&captures, text, *reader) else { continue };
            if found
                .iter()
                .all(|other| other.span.end <= clock.span.start || clock.span.end <= other.span.start)
            {
                found.push(clock);
            }
        }
    }
    found.sort_by_key(|clock| clock.span.start);
    found
}

fn read(captures: &Captures<'_>, text: &str, reader: Reader) -> Option<Clock> {
    let whole = captures.get(0)?;
    let end = captures.name("after").map_or(whole.end(), |after| after.start());
    let lead = captures.name("lead").map(|lead| lead.as_str());
    if lead == Some("from") && counts_things(text.get(end..)?) {
        return None;
    }
    let day_end = captures
        .name("name")
        .is_some_and(|name| !matches!(name.as_str(), "noon" | "midday" | "midnight" | "lunch" | "dinner"));
    let until = captures.name("until").and_then(|until| number(until.as_str()));
    let part = text.get(end..).and_then(|after| PART.captures(after));
    let own = captures.name("half").is_some() || captures.name("name").is_some();
    let mut clock = Clock {
        span: whole.start()..end + part.as_ref().and_then(|part| part.get(0)).map_or(0, |part| part.end()),
        at: reader(captures)?,
        until: None,
        exact: own || part.is_some(),
        introduced: lead.is_some_and(|lead| !matches!(lead, "from" | "between" | "over"))
            || day_end
            || part.is_some()
            || whole.as_str().ends_with("o'clock")
            // "The engineer is coming between ten and twelve."
            || lead == Some("between") && until.is_some(),
        deadline: lead.is_some_and(|lead| {
            matches!(lead, "by" | "before" | "until" | "till" | "no later than" | "due at" | "due by")
        }),
    };
    if let Some(part) = part.filter(|_| !own) {
        clock.at = clock.in_part(part.name("part").map_or("night", |part| part.as_str()));
    }
    clock.until = until.and_then(|hour| clock.next_after(u32::try_from(hour).ok()?));
    clock.exact |= clock.at.hour() > 12 && captures.name("m").is_some() && captures["h"].len() > 1;
    Some(clock)
}

/// Whether what stands behind a number makes it one of two that count: "or four roofers".
fn counts_things(behind: &str) -> bool {
    let other = OR.find(behind).and_then(|other| behind.get(other.end()..));
    other.is_some_and(|rest| !OF_AN_HOUR.is_match(rest))
}

impl Clock {
    /// The time, moved by half a day where only that lies in `part`.
    pub(super) fn in_part(&self, part: &str) -> NaiveTime {
        let half_a_day = TimeDelta::hours(12);
        match (part, self.at.hour()) {
            ("morning", 12..=23) => self.at.overflowing_sub_signed(half_a_day).0,
            ("afternoon", 1..=8) | ("evening" | "night", 4..=11) => {
                self.at.overflowing_add_signed(half_a_day).0
            }
            _ => self.at,
        }
    }

    /// The next time after it that a clock shows as `hour`.
    fn next_after(&self, hour: u32) -> Option<NaiveTime> {
        [hour, hour + 12].into_iter().filter_map(|hour| at(hour, 0)).find(|end| *end > self.at)
    }
}

fn hour(captures: &Captures<'_>) -> Option<u32> {
    number(captures.name("h")?.as_str()).and_then(|hour| u32::try_from(hour).ok())
}

fn minute(captures: &Captures<'_>) -> u32 {
    let written = captures.name("m").and_then(|minute| minute.as_str().parse().ok());
    let spoken = || {
        let words = captures.name("spoken")?.as_str();
        let words = words.trim_start_matches("oh").trim_start_matches(['-', ' ']);
        u32::try_from(number(words)?).ok()
    };
    written.or_else(spoken).unwrap_or(0)
}

fn at(hour: u32, minute: u32) -> Option<NaiveTime> {
    NaiveTime::from_hms_opt(hour, minute, 0)
}

fn twelve_hours(captures: &Captures<'_>) -> Option<NaiveTime> {
    let hour = hour(captures).filter(|hour| (1..=12).contains(hour))?;
    let afternoon = captures.name("half")?.as_str() == "p";
    at(hour % 12 + if afternoon { 12 } else { 0 }, minute(captures))
}

/// Without am or pm, one to six are in the afternoon.
fn bare_hours(captures: &Captures<'_>) -> Option<NaiveTime> {
    let written = captures.name("h")?.as_str();
    let hour = hour(captures)?;
    let afternoon = (1..=6).contains(&hour) && !written.starts_with('0');
    at(hour + if afternoon { 12 } else { 0 }, minute(captures))
}

/// "Half past two", "half two", "quarter to nine", "twenty past seven".
fn fractions(captures: &Captures<'_>) -> Option<NaiveTime> {
    let hour = hour(captures).filter(|hour| (1..=12).contains(hour))?;
    let minutes = match captures.name("word")?.as_str() {
        "half" => 30,
        "quarter" => 15,
        written => u32::try_from(number(written)?).ok()?,
    };
    let before = captures.name("side").is_some_and(|side| matches!(side.as_str(), "to" | "till"));
    let (hour, minutes) = if before { (hour.checked_sub(1)?, 60 - minutes) } else { (hour, minutes) };
    let afternoon = (1..=6).contains(&hour) || hour == 0;
    at(hour + if afternoon { 12 } else { 0 }, minutes)
}

/// Names of times; the end of the working day is 17:00, that of the day 18:00.
fn named(captures: &Captures<'_>) -> Option<NaiveTime> {
    match captures.name("name")?.as_str() {
        "noon" | "midday" => at(12, 0),
        "midnight" => at(23, 59),
        "lunchtime" | "lunch time" | "lunch" => at(12, 30),
        "teatime" | "tea time" => at(17, 0),
        name if ["business", "play", "work", "cob", "eob"].iter().any(|end| name.ends_with(end)) => at(17, 0),
        _ => at(18, 0),
    }
}
