//! Events that other people bring: those whom the speakers expect, and tradespeople who call or repair.

use std::sync::LazyLock;

use super::happenings::{joined, meant};
use super::phrase::Said;
use crate::embedded::lexicon::{is_stop_word, is_task_verb, trades};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern, third_person};

/// "They will send a surveyor": who comes.
static SENT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:we|they|he|she|i)(?:'re|'ll|'m|'s|\s+are|\s+will|\s+is|\s+am)?\s+(?:be\s+)?(?:send|sending|get|getting|have|having)\s+(?:(?:you|us|me|round|in)\s+)?(?:an?|the|our|some)\s+(?P<who>(?:[\p{L}-]+\s+)?[\p{L}-]+)(?:\s+(?:out|round|over|in|along|to|coming|come|here))?\b",
    )
});
/// "A loss adjuster will call you": what another does.
static DOES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?P<who>(?:the|an?|my|our|your)\s+(?:[\p{L}-]+\s+){0,2}[\p{L}-]+|(?-i:\p{Lu}\p{Ll}+))(?:'ll|'s|\s+will|\s+is|(?:'s|\s+is|'re|\s+are)\s+going\s+to)\s+(?:also\s+|then\s+)?(?P<verb>call|ring|phone|collect|fit|install|inspect|repair|fix|pick|clean|measure|paint|read|examine|operate|calling|ringing|phoning|collecting|fitting|installing|inspecting|repairing|fixing|picking|cleaning|measuring|painting|operating)\s+(?P<object>you|me|us|on|up|(?:the|my|our|your)\s+[\p{L}-]+|it|them)\b",
    )
});

/// "An engineer will be with you".
static PRESENT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:the|an?|my|our|your)\s+(?P<who>(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+)(?:'ll|\s+will|\s+is\s+going\s+to)\s+be\s+(?:there|here|with\s+(?:you|us)|round|over|visiting|coming)\b",
    )
});

/// "He'll be with you", "she'll be here".
static THERE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:he|she|they)(?:'ll|\s+will)\s+(?:probably\s+)?be\s+(?:there|here|with\s+(?:you|us)|round|over|at\s+(?:yours|ours))\b",
    )
});

/// What people other than the speakers do: those who are sent, and tradespeople who call or repair.
pub(super) fn of_others(said: &Said<'_>, earlier: &str) -> Option<String> {
    let text = joined(&said.all);
    if THERE.is_match(&text) {
        return meant(said, earlier, said.all.len()).map(|who| capitalised(&format!("{who} comes")));
    }
    if let Some(found) = SENT.captures(&text) {
        let mut who = found["who"].to_owned();
        if !who.split(' ').next_back().is_some_and(|last| is_trade(&last.to_lowercase())) {
            who = who.split(' ').next().unwrap_or_default().to_owned();
        }
        return is_trade(&who.split(' ').next_back()?.to_lowercase())
            .then(|| capitalised(&format!("{who} comes")));
    }
    if let Some(found) = PRESENT.captures(&text) {
        let who = &found["who"];
        let last = who.split(' ').next_back()?.to_lowercase();
        return is_trade(&last).then(|| capitalised(&format!("{who} comes")));
    }
    let found = DOES.captures(&text)?;
    let who = found["who"].split_once(' ').map_or(&found["who"], |(_, who)| who);
    let last = who.split(' ').next_back()?.to_lowercase();
    let person = is_trade(&last)
        || matches!(
            last.as_str(),
            "council" | "company" | "agency" | "bank" | "school" | "insurance" | "people" | "team"
        )
        || found["who"].starts_with(char::is_uppercase) && !is_stop_word(&last);
    let object = match &found["object"] {
        "you" | "me" | "us" | "it" | "them" | "up" | "on" => String::new(),
        thing => format!(" {thing}"),
    };
    let verb = found["verb"].to_lowercase();
    let verb = if verb.ends_with("ing") { verb } else { third_person(&verb) };
    (person && !is_task_verb(&last)).then(|| capitalised(&format!("{who} {verb}{object}")))
}

fn is_trade(word: &str) -> bool {
    trades().any(|trade| trade == word)
        || ["er", "or", "ist", "ian", "man", "men"]
            .iter()
            .any(|ending| word.len() > 5 && word.ends_with(ending))
            && !NO_TRADES.contains(&word)
}

/// Words that end like trades and name no trade.
const NO_TRADES: &[&str] = &[
    "letter",
    "number",
    "order",
    "dinner",
    "supper",
    "summer",
    "winter",
    "paper",
    "newspaper",
    "shower",
    "cover",
    "corner",
    "quarter",
    "computer",
    "printer",
    "folder",
    "poster",
    "offer",
    "answer",
    "weather",
    "water",
    "flower",
    "flyer",
    "trailer",
    "container",
    "matter",
    "master",
    "sister",
    "brother",
    "mother",
    "father",
    "daughter",
    "former",
    "longer",
    "bigger",
    "smaller",
    "better",
    "error",
    "mirror",
    "floor",
    "elevator",
    "monitor",
    "calculator",
    "reminder",
    "transfer",
    "sweater",
    "checklist",
    "playlist",
    "shortlist",
    "specimen",
    "another",
    "sticker",
    "cooker",
    "boiler",
    "charger",
    "sampler",
    "silver",
    "whether",
    "either",
    "neither",
    "colour",
    "harbor",
    "trousers",
    "butter",
    "burger",
    "freezer",
    "drawer",
    "laser",
    "router",
    "server",
    "counter",
    "chapter",
    "center",
    "cluster",
    "filter",
    "buffer",
    "starter",
];
