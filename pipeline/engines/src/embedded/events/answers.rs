//! Dates that are said of what was named before: "When is the test? - Friday", "he's booked for the tenth".

use std::sync::LazyLock;

use super::happenings::{joined, meant};
use super::nouns;
use super::phrase::{Said, noun_phrase_before};
use crate::embedded::lexicon::is_person;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern};

/// "When's the test?", "what day is your appointment?".
static WHEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:^|[,.;]\s+|\b(?:and|but|so|oh|no|okay|right)\s+)(?:when(?:'s|\s+is|\s+are)|when\s+(?:can|could|would|will|do|does)\s+(?:you|they|he|she|we|i)\s+(?:do|make|come\s+for|start|have|get)|what\s+(?:day|date|time)(?:'s|\s+is))\s+(?P<what>it|that|this|(?:the|your|my|our|his|her|their|\p{L}+'s)\s+(?:[\p{L}'-]+\s+){0,3}?[\p{L}'-]+)(?:\s+(?:again|then|on|due|this\s+(?:week|time|year)))?\s*\?*$",
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

/// "He's booked for the twenty-fifth", "the plumber is here on Friday", "Tom's back on Sunday": who is expected.
pub(super) fn expected(said: &Said<'_>, earlier: &str) -> Option<String> {
    let words = said.before.as_slice();
    let place = "booked due scheduled down back here in expected over round";
    let end = words.iter().position(|word| word.is_any(place))?;
    let only = words
        .get(end..)?
        .iter()
        .all(|word| word.is_any(place) || word.is_any("for on at from now all again"));
    let copula = words.get(end.checked_sub(1)?)?;
    let helped = copula.is_any("is are");
    let at = if helped { end.checked_sub(2)? } else { end - 1 };
    let who = words.get(at)?;
    let back = words.get(end..)?.iter().any(|word| word.plain == "back");
    let over = words.get(end..)?.iter().any(|word| word.is_any("over round"));
    let named = |person: String| {
        capitalised(&match (back, over) {
            (true, _) => format!("{person} back"),
            (_, true) => format!("{person} over"),
            _ => person,
        })
    };
    if !only || !helped && !who.plain.ends_with("'s") && who.plain != "they're" {
        return None;
    }
    if who.is_any("he's she's they're he she they") {
        return meant(said, earlier, at).map(named);
    }
    let phrase = noun_phrase_before(words, at + 1)?;
    let last = phrase.last()?;
    let bare = last.plain.trim_end_matches("'s");
    let person = joined(phrase);
    (is_person(bare) || last.is_name()).then(|| named(person.trim_end_matches("'s").to_owned()))
}

/// "I've booked you in for Tuesday", "let's say Monday at ten", "see you on Thursday at two": what was arranged.
static ARRANGED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:^|\b(?:so|and|then|okay|ok|great|right|good)\s+)(?:(?P<fit>(?:i|we|she|he|they)(?:'ll|'ve|\s+will|\s+can|\s+could|\s+have)\s+(?:probably\s+)?(?:(?:squeeze|fit|slot|fitted|squeezed|slotted|get|pencil|pencilled)\s+(?:you|him|her|them|it|us)\s+in\b|see\s+(?:you|him|her|them)\s*$))|(?P<say>(?:let's|shall\s+we)\s+(?:say|take(?:$|\s+(?:at|in|for)\b)|do$|do\s+(?:that|it)$|make\s+it)|(?:we've|we)\s+(?:said|agreed(?:\s+on)?|settled\s+on)$|make\s+it$|(?:it\s+is|it's\s+a\s+deal)$|(?:i'll\s+|we'll\s+)?see\s+you(?:\s+(?:then|again|back))?$|(?:i'll\s+|we'll\s+)?see\s+you\s+(?:at|there)$)|(?P<in>you're|you\s+are)\s+(?:all\s+)?(?:booked|down|scheduled|pencilled|in)\b|(?P<booked>i've|we've|she's|they've|i|we)\s+(?:already\s+)?(?:booked|reserved|arranged|scheduled|hired|put)\s+(?:(?:us\s+|you\s+)?(?:the|an?|our|my)\s+(?P<what>[\p{L}-]+(?:\s+[\p{L}-]+)?)|(?P<you>you|him|her|it|us)\b))",
    )
});

/// An appointment that is stated as arranged: what it is, if that was said.
pub(super) fn arranged(said: &Said<'_>, recalled: impl Fn() -> Option<String>) -> Option<String> {
    let text = joined(&said.all);
    let found = ARRANGED.captures(text.trim())?;
    if found.name("fit").is_some() {
        return Some(recalled().unwrap_or_else(|| "Appointment".to_owned()));
    }
    if found.name("say").is_some() {
        return recalled().or_else(|| said.timed.then(|| "Appointment".to_owned()));
    }
    match found.name("what") {
        Some(what) => {
            let what = what.as_str();
            let what = what.strip_suffix(" for").unwrap_or(what);
            (!nouns::is_idle(what)).then(|| capitalised(what))
        }
        None => Some(recalled().unwrap_or_else(|| "Appointment".to_owned())),
    }
}

/// "I'll pop round on Thursday".
static VISIT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i|we)(?:'ll|\s+will|\s+can|'m\s+going\s+to|'re\s+going\s+to)\s+(?:probably\s+|just\s+)?(?:pop|come|drop|call|stop|swing|nip)\s+(?:round|over|by|in|along|out|down|up)\b",
    )
});

/// A visit that a speaker announces.
pub(super) fn visit(said: &Said<'_>) -> Option<String> {
    VISIT.is_match(&joined(&said.all)).then(|| "Visit".to_owned())
}

/// "I'm having my wisdom teeth out", "she's getting the cast removed": what is done for a person.
static HAS_DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:'m|'re|'s|\bam|\bare|\bis|'ll\s+be)\s+(?:having|getting)\s+(?:my|our|your|his|her|their|the|an?)\s+(?P<what>(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+)\s+(?P<done>out|off|in|done|\p{L}{2,}ed|cut|redone|taken\s+out|put\s+in)\b",
    )
});

/// What a person has done on a day.
pub(super) fn has_done(said: &Said<'_>) -> Option<String> {
    let text = joined(&said.all);
    let found = HAS_DONE.captures(&text)?;
    Some(capitalised(&format!("{} {}", &found["what"], &found["done"])))
}

/// "The sequencer is being serviced", "the hall will be painted".
static DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:the|my|our|your|his|her|their|an?|\p{L}+'s)\s+(?P<what>(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+?)(?:(?:'s|'re|\s+is|\s+are)\s+(?:being|getting|going\s+to\s+be|gonna\s+be|to\s+be)|(?:'ll|\s+will)\s+be|\s+gets)\s+(?P<done>\p{L}{2,}(?:ed|ung|ilt)|shut)\b",
    )
});
/// "The office is closed on Friday".
static CLOSED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:^(?:(?:the|our|my|your)\s+)?|\b(?:the|our|my|your)\s+)(?P<what>(?:[\p{L}-]+\s+)?[\p{L}-]{3,}?)(?:'s|\s+is|\s+are)\s+(?P<done>closed|shut|off)\b",
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
    let found = DONE.captures(&text).or_else(|| CLOSED.captures(&text))?;
    let done = found["done"].to_lowercase();
    (!FELT.contains(&done.as_str())).then(|| capitalised(&format!("{} {done}", &found["what"])))
}
