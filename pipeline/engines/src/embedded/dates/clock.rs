//! Times of day.

use std::ops::Range;
use std::sync::LazyLock;

use chrono::NaiveTime;
use regex::Captures;

use super::calendar::number;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// A time of day that a text names.
pub(super) struct Clock {
    /// Its bytes, the preposition included.
    pub(super) span: Range<usize>,
    /// The time.
    pub(super) at: NaiveTime,
    /// Stands after "at", "by" and the like: only then does it count without a day.
    pub(super) introduced: bool,
    /// Introduced by "by", "before", "until".
    pub(super) deadline: bool,
}

type Reader = fn(&Captures<'_>) -> Option<NaiveTime>;

const LEAD: &str = r"(?:\b(?P<lead>by|before|until|till|no later than|at|around|from|due at|due by)\s+(?:the\s+)?(?:about\s+)?)?";
const HOUR_WORD: &str = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";

/// In order of preference: what an earlier rule took, a later one does not see.
static RULES: LazyLock<Vec<(Pattern, Reader)>> = LazyLock::new(|| {
    let rule = |body: &str, reader: Reader| (pattern(&format!("{LEAD}{body}")), reader);
    vec![
        rule(r"\b(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?\s{0,3}(?P<half>[ap])\.?m\b\.?", twelve_hours),
        rule(
            &format!(
                r"\b(?P<h>\d{{1,2}}|{HOUR_WORD})(?:\s+o'clock)?\s+in\s+the\s+(?P<part>morning|afternoon|evening)\b"
            ),
            with_part,
        ),
        rule(r"\b(?P<h>[01]?\d|2[0-3])[:h](?P<m>[0-5]\d)\b", bare_hours),
        rule(
            &format!(r"\b(?P<word>half\s+past|quarter\s+past|quarter\s+to)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})\b"),
            fractions,
        ),
        rule(r"\b(?:12\s+)?(?P<name>noon|midday|midnight|lunchtime|lunch\s+time)\b", named),
        (pattern(r"\b(?P<lead>by|before)\s+(?P<name>lunch|dinner)\b"), named),
        rule(
            r"\b(?P<name>close\s+of\s+business|cob|end\s+of\s+business|end\s+of\s+(?:the\s+)?(?:working\s+|business\s+)?day|eod)\b",
            named,
        ),
        rule(&format!(r"\b(?P<h>\d{{1,2}}|{HOUR_WORD})\s+o'clock\b"), bare_hours),
        (
            pattern(&format!(
                r"\b(?P<lead>by|before|until|at|around)\s+(?P<h>\d{{1,2}}|{HOUR_WORD})\b(?P<after>$|[.,;!?]+(?:\s|$)|\s+(?:on|in|this|next|sharp|today|tomorrow|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|please|if|with|and|so|then|or)\b)"
            )),
            bare_hours,
        ),
    ]
});

/// Every time of day in `text` (lower case), without overlaps.
pub(super) fn find(text: &str) -> Vec<Clock> {
    let mut found: Vec<Clock> = Vec::new();
    for (rule, reader) in RULES.iter() {
        for captures in rule.captures_iter(text) {
            let Some(clock) = read(&captures, *reader) else { continue };
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

fn read(captures: &Captures<'_>, reader: Reader) -> Option<Clock> {
    let whole = captures.get(0)?;
    let end = captures.name("after").map_or(whole.end(), |after| after.start());
    let lead = captures.name("lead").map(|lead| lead.as_str());
    let day_end =
        captures.name("name").is_some_and(|name| !matches!(name.as_str(), "noon" | "midday" | "midnight"));
    Some(Clock {
        span: whole.start()..end,
        at: reader(captures)?,
        introduced: lead.is_some_and(|lead| lead != "from") || day_end,
        deadline: lead.is_some_and(|lead| !matches!(lead, "at" | "around" | "from")),
    })
}

fn hour(captures: &Captures<'_>) -> Option<u32> {
    number(captures.name("h")?.as_str()).and_then(|hour| u32::try_from(hour).ok())
}

fn minute(captures: &Captures<'_>) -> u32 {
    captures.name("m").and_then(|minute| minute.as_str().parse().ok()).unwrap_or(0)
}

fn at(hour: u32, minute: u32) -> Option<NaiveTime> {
    NaiveTime::from_hms_opt(hour, minute, 0)
}

fn twelve_hours(captures: &Captures<'_>) -> Option<NaiveTime> {
    let hour = hour(captures).filter(|hour| (1..=12).contains(hour))?;
    let afternoon = captures.name("half")?.as_str() == "p";
    at(hour % 12 + if afternoon { 12 } else { 0 }, minute(captures))
}

fn with_part(captures: &Captures<'_>) -> Option<NaiveTime> {
    let hour = hour(captures).filter(|hour| (1..=12).contains(hour))?;
    let morning = captures.name("part")?.as_str() == "morning";
    at(hour % 12 + if morning { 0 } else { 12 }, minute(captures))
}

/// Without am or pm, one to six are in the afternoon.
fn bare_hours(captures: &Captures<'_>) -> Option<NaiveTime> {
    let written = captures.name("h")?.as_str();
    let hour = hour(captures)?;
    let afternoon = (1..=6).contains(&hour) && !written.starts_with('0');
    at(hour + if afternoon { 12 } else { 0 }, minute(captures))
}

fn fractions(captures: &Captures<'_>) -> Option<NaiveTime> {
    let hour = hour(captures).filter(|hour| (1..=12).contains(hour))?;
    let hour = if (1..=6).contains(&hour) { hour + 12 } else { hour };
    match captures.name("word")?.as_str().split_whitespace().collect::<Vec<_>>().as_slice() {
        ["half", _] => at(hour, 30),
        [_, "past"] => at(hour, 15),
        _ => at(hour.checked_sub(1)?, 45),
    }
}

/// Names of times; the end of the working day is 17:00, that of the day 18:00.
fn named(captures: &Captures<'_>) -> Option<NaiveTime> {
    match captures.name("name")?.as_str() {
        "noon" | "midday" => at(12, 0),
        "midnight" => at(23, 59),
        "lunchtime" | "lunch time" | "lunch" => at(12, 30),
        name if name.contains("business") || name == "cob" => at(17, 0),
        _ => at(18, 0),
    }
}
