//! Dates that are said of what was named before: "When is the test? - Friday", "he's booked for the tenth".

use std::sync::LazyLock;

use super::happenings::{joined, meant};
use super::nouns;
use super::phrase::Said;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern};

/// "When's the test?", "what day is your appointment?".
static WHEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:^|[,.;]\s+|\b(?:and|but|so|oh|no|okay|right)\s+)(?:when(?:'s|\s+is|\s+are)|what\s+(?:day|date|time)(?:'s|\s+is))\s+(?P<what>it|that|this|(?:the|your|my|our|his|her|their|\p{L}+'s)\s+(?:[\p{L}'-]+\s+){0,3}?[\p{L}'-]+)(?:\s+(?:again|then|on|due|this\s+(?:week|time|year)))?\s*\?*$",
    )
});

/// What was asked after, when `said` is little more than its date.
pub(super) fn answer(asked: &str, said: &Said<'_>, recalled: impl Fn() -> Option<String>) -> Option<String> {
    let found = WHEN.captures(asked)?;
    let lead = |list: &str| said.before.iter().all(|word| word.is_any(list));
    let short = lead("it's it is that's on at next i think oh well um uh the erm thursday")
        && said.after.first().is_none_or(|next| !next.is_any("i we he she they you to is was"));
    if !short {
        return None;
    }
    match found["what"].to_lowercase().as_str() {
        "it" | "that" | "this" => recalled(),
        what => {
            let named = nouns::happening_in(&found["what"]);
            let bare = what.split_once(' ').map_or(what, |(_, noun)| noun);
            named.or_else(|| (!nouns::is_idle(bare)).then(|| capitalised(bare)))
        }
    }
}

/// "He's booked for the twenty-fifth", "she's back on Monday": who is expected.
pub(super) fn expected(said: &Said<'_>, earlier: &str) -> Option<String> {
    let opens = "and so but then oh well yes yeah no ok okay";
    let at = said.before.iter().position(|word| !word.is_any(opens))?;
    let who = said.before.get(at)?;
    let rest = said.before.get(at + 1..)?;
    let only = rest.iter().all(|word| {
        word.is_any("booked due scheduled down back here in expected available for on at from now all again")
    });
    if !who.is_any("he's she's they're") || rest.is_empty() || !only {
        return None;
    }
    let person = meant(said, earlier, at)?;
    let back = rest.iter().any(|word| word.plain == "back");
    Some(capitalised(&if back { format!("{person} back") } else { person }))
}

/// "The sequencer is being serviced", "the hall will be painted".
static DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:the|my|our|your|his|her|their|an?|\p{L}+'s)\s+(?P<what>(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+?)(?:(?:'s|'re|\s+is|\s+are)\s+(?:being|getting|going\s+to\s+be|gonna\s+be|to\s+be)|(?:'ll|\s+will)\s+be|\s+gets)\s+(?P<done>\p{L}{2,}(?:ed|ung|ilt))\b",
    )
});
/// Participles of what people feel or expect.
const FELT: &[&str] = &[
    "needed",
    "expected",
    "interested",
    "worried",
    "scared",
    "excited",
    "tired",
    "supposed",
    "bored",
    "used",
    "pleased",
    "delighted",
    "disappointed",
    "surprised",
    "ashamed",
    "relieved",
    "annoyed",
    "allowed",
    "required",
    "finished",
    "based",
];

/// What is done to a thing on a day.
pub(super) fn done(said: &Said<'_>) -> Option<String> {
    let text = joined(&said.all);
    let found = DONE.captures(&text)?;
    let done = found["done"].to_lowercase();
    (!FELT.contains(&done.as_str())).then(|| capitalised(&format!("{} {done}", &found["what"])))
}

/// "We're having the neighbours over for dinner".
static HAVING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i'm|we're|she's|he's|they're|i|we)\s+(?:having|have(?:\s+got)?)\s+(?P<who>(?:the|my|our|some)?\s*[\p{L}' ]{2,30}?)\s+(?:over|round|around|up)\b(?:\s+for\s+(?P<what>(?:a\s+)?\p{L}+))?",
    )
});

/// Guests.
pub(super) fn guests(said: &Said<'_>) -> Option<String> {
    let text = joined(&said.all);
    let found = HAVING.captures(&text)?;
    let who = found["who"].trim();
    match found.name("what") {
        Some(what) => Some(capitalised(&format!("{} with {who}", what.as_str().trim_start_matches("a ")))),
        None => Some(capitalised(&format!("{who} over"))),
    }
}
