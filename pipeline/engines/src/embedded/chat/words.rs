//! A message as the rules read it, and how moments and lists are worded.

use std::collections::HashSet;
use std::sync::LazyLock;

use assistant::Context;
use chrono::{DateTime, Datelike, NaiveDate};
use chrono_tz::Tz;
use records::Timestamp;
use regex::Captures;
use serde_json::Value;

use crate::embedded::dates::ranges::{Direction, Span};
use crate::embedded::dates::{DayOrder, Reference};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{content_stems, pattern};

static THOUSANDS: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$"));
static SPACES: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\s+"));
static QUOTED: LazyLock<Pattern> = LazyLock::new(|| pattern(r#""([^"]{1,4000})""#));
/// What a message may begin with before it says what it wants.
static OPENING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:hey|hi|hello|ok|okay|alright|oh|actually|by the way|btw|so|well|and|also|then|now|please|pls|kindly|assistant|listen)\b[\s,!.:-]*)+",
    )
});
static POLITE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+|just\s+)?|i(?:'d|\s+would)\s+like\s+you\s+to\s+|i\s+(?:want|need)\s+you\s+to\s+|please\s+)",
    )
});

/// Questions as they are typed in haste: the words that carry no topic are written out.
static HASTY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:(?P<is>what|who|when|where|how|that)s|(?P<what>wat|wot|wht)|(?P<about>abuot|abotu|abt|aobut)|(?P<the>teh|hte)|(?P<tomorrow>tmrw|tmr|tomoz|tomorow|tommorow|tommorrow)|(?P<you>u))\b",
    )
});
static HASTY_ASKING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\?\W*$|^(?:(?:wha|wa|wo|wh)ts?|what|whats|who|whos|when|whens|where|wheres|why|which|how|hows|did|do|does|have|has|any|anything|is|are|was|were)\b",
    )
});

/// What a person wrote.
#[derive(Clone)]
pub(super) struct Message {
    /// With single spaces, straight quotes and apostrophes.
    pub(super) text: String,
    /// The same without greetings and courtesies at its beginning and its end.
    pub(super) bare: String,
    /// What stands in quotes.
    pub(super) quoted: Vec<String>,
    /// Whether a part of it was said in an earlier message: what is asked for in so many words is asked for in one.
    pub(super) leans: bool,
    order: DayOrder,
}

impl Message {
    pub(super) fn of(text: &str, order: DayOrder) -> Self {
        let straight = text
            .replace(['\u{2019}', '\u{2018}'], "'")
            .replace(['\u{201c}', '\u{201d}', '\u{201e}', '\u{00ab}', '\u{00bb}'], "\"");
        let mut text = SPACES.replace_all(straight.trim(), " ").into_owned();
        if !text.contains('"') && HASTY_ASKING.is_match(&text) {
            text = written_out(&text);
        }
        let after = |text: &str, opening: &Pattern| {
            let at = opening.find(text).map_or(0, |found| found.end());
            text.get(at..).unwrap_or_default().to_owned()
        };
        let mut bare = after(&text, &OPENING);
        bare = after(&bare, &POLITE);
        for ending in [" please", ", thanks", " thanks", ", thank you", " thank you", ","] {
            let plain = bare.trim_end_matches(['.', '!', ' ']);
            let cut = plain.len().saturating_sub(ending.len());
            if plain.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case(ending)) {
                bare = plain.get(..cut).unwrap_or_default().to_owned();
            }
        }
        let quoted = QUOTED.captures_iter(&text).map(|found| found[1].trim().to_owned()).collect();
        Self { text, bare, quoted, leans: false, order }
    }

    /// The same order, of the thing that is called so.
    pub(super) fn of_quoted(&self, name: &str) -> Self {
        Self { quoted: vec![name.to_owned()], ..self.clone() }
    }

    /// The same with words of another message.
    pub(super) fn leaning(&self, text: &str) -> Self {
        Self { leans: true, ..Self::of(text, self.order) }
    }

    /// The moment from which its dates are counted.
    pub(super) fn reference(&self, context: &Context) -> Reference {
        Reference::at(context.now, context.zone, self.order)
    }

    /// The span of time that it names.
    pub(super) fn span(&self, context: &Context, direction: Direction) -> Option<Span> {
        self.reference(context).span(&self.text, direction)
    }
}

fn written_out(text: &str) -> String {
    let plain = |found: &Captures<'_>| {
        let word =
            ["what", "about", "the", "tomorrow", "you"].into_iter().find(|name| found.name(name).is_some());
        match (found.name("is"), word) {
            (Some(asked), _) => format!("{}'s", asked.as_str()),
            (None, word) => word.unwrap_or_default().to_owned(),
        }
    };
    HASTY.replace_all(text, plain).into_owned()
}

/// The stems of a text's words of content, each once.
pub(super) fn stems(text: &str) -> HashSet<String> {
    content_stems(text).into_iter().collect()
}

/// Which part of the wanted stems a text has.
pub(super) fn share(wanted: &HashSet<String>, text: &str) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    let there = stems(text);
    wanted.intersection(&there).count() as f64 / wanted.len() as f64
}

/// The objects whose rate is the best of all, and above `least`.
pub(super) fn best<'v>(objects: &[&'v Value], least: f64, rate: impl Fn(&Value) -> f64) -> Vec<&'v Value> {
    let rates: Vec<f64> = objects.iter().map(|object| rate(object)).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let fits = |rate: f64| rate > least && rate >= best;
    objects.iter().zip(rates).filter(|(_, rate)| fits(*rate)).map(|(object, _)| *object).collect()
}

/// A moment in a result.
pub(super) fn moment(object: &Value, name: &str) -> Option<Timestamp> {
    let text = object.get(name)?.as_str()?;
    DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.to_utc())
}

/// "today", "yesterday", "Mon 16 Nov", "16 Nov 2025".
pub(super) fn day_of(at: Timestamp, context: &Context) -> String {
    let (date, today) = (local(at, context.zone), local(context.now, context.zone));
    match (date - today).num_days() {
        0 => "today".to_owned(),
        -1 => "yesterday".to_owned(),
        1 => "tomorrow".to_owned(),
        -200..=200 => date.format("%a %-d %b").to_string(),
        _ => date.format("%-d %b %Y").to_string(),
    }
}

/// The day with the time of day; without it at the last minute, which says no time.
pub(super) fn due_of(at: Timestamp, context: &Context) -> String {
    let time = at.with_timezone(&context.zone).format("%H:%M").to_string();
    match time.as_str() {
        "23:59" => day_of(at, context),
        time => format!("{} at {time}", day_of(at, context)),
    }
}

/// The time of day.
pub(super) fn time_of(at: Timestamp, context: &Context) -> String {
    at.with_timezone(&context.zone).format("%H:%M").to_string()
}

/// The day by the user's wall clock.
pub(super) fn local(at: Timestamp, zone: Tz) -> NaiveDate {
    at.with_timezone(&zone).date_naive()
}

/// The Monday of a day's week.
pub(super) fn week_of(date: NaiveDate) -> NaiveDate {
    date - chrono::Duration::days(i64::from(date.weekday().num_days_from_monday()))
}

/// RFC 3339, as tools take it.
pub(super) fn stamp(at: Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// "1,200" is a thousand and more, "1,5" one and a half.
pub(super) fn figure(text: &str) -> Option<f64> {
    let text = text.trim_end_matches(['.', ',']);
    if THOUSANDS.is_match(text) {
        return text.replace(',', "").parse().ok();
    }
    text.replace(',', ".").parse().ok()
}

/// "1 task", "2 tasks".
pub(super) fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}
