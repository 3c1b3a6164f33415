//! From the words of a task to its description.

use std::sync::LazyLock;

use crate::embedded::capitals::restored;
use crate::embedded::dates::Reference;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, content_stems, decapitalised, first_words, pattern};

/// DECISIONS §5.
pub(super) const LONGEST: usize = 15;

/// Where the task ends and its reason, condition or circumstance begins.
static TAIL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?: ,?\s+(?:because|since|so\ that|so\ (?:we|i|you|they|it)|which|unless|otherwise|as\ soon\ as|once|whenever|right\ (?:after|away|now)|and\ that's|when|while|although|though
            |(?:before|after|until)\ (?:i|we|you|they|he|she|it|this|that)|in\ case|to\ see|in\ order\ to|and\ then|and\ (?:we|i|you|they|he|she|it))\b
        | \s*,\s+(?:he|she|they|it|there|that|this|we|i|you|but|so|or\ else|don't|just|then|like|yes|no|please|thanks|thank\ you|ok|okay|right|if|as|not)\b
        | (?:,|\s+and)\s+(?:the|my|our|your|his|her|their|two\ of|some\ of|one\ of|both\ of|all\ of)\s+\p{L}+(?:\s\p{L}+){0,3}?\s+(?:is|are|was|were|went|came|got|looks?|seems?|has|have|had|takes?|needs?|wants?|will|can|can't|said|says|closes?|opens?|costs?|starts?|ends?)\b.*
        | ,\s+(?-i:\p{Lu}\p{Ll}+)(?:'s|\ (?:is|was|has|had|will|can|needs?|wants?|said|says|keeps|comes|works))\b
        | \s+that(?:'d|\s+would)\s+(?:be|help|suit|work|make)\b
        | \s+[-–—]+\s | ;\s | [?!]\s ).*$",
    )
});
/// "Find out from IT which directory we use": what is to be found out belongs to the task.
static INDIRECT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:find\s+out|ask|check|decide|clarify|confirm|see|work\s+out|look\s+up)\b[^,.;?!]*?\swhich\s[^,.;?!]*$",
    )
});
/// A condition: not after verbs that ask one ("check if").
static CONDITION: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?P<task>.*?\b(?P<last>\w+))\s+if\s+.*$"));
static FILLER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i),?\s*\b(?:just|actually|basically|really|kindly|please|you\s+know|i\s+mean|uh|um|kind\s+of|sort\s+of)\b,?",
    )
});
static LET_YOU_KNOW: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?P<let>let)\s+you\s+know\b"));
static TRAILING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)[\s,]+(?:by|on|at|in|before|for|until|to|and|or|with|of|the|a|an|too|as\s+well|instead|then|again|though|anyway|first|also|that\s+day|by\s+then|ok|okay|thanks|either|now|later|itself|love|dear|mate|darling|cheers|bye|ta|please|from|due|latest|at\s+the\s+latest|(?:by\s+)?the\s+end|sometime|some\s+time|next\s+time|this\s+time|say|ideally|right|i\s+(?:guess|think|suppose|believe)|or\s+(?:something|so|whatever)|if\s+possible|hopefully|maybe|obviously|somehow|early|late)\W*$",
    )
});
static SPACES: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\s+"));

/// "I'll write the minutes."
pub(super) static MINUTES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:write|take|type|send|circulate|share|do|draft|finish|post|prepare|distribute)(?:\s+up|\s+out|\s+round)?\s+(?:the|my|our|your)\s+minutes\b",
    )
});

/// "I'll let you know when it's here": nothing is to be done before.
pub(super) static LETS_KNOW_LATER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^let\s+(?:you|them|him|her|us|me)\s+know\s*(?:[.,!]|$|(?:about\s+\p{L}+day|when|once|if|whether|as\s+soon|how|later|soon|then|either\s+way|what\s+(?:he|she|they|it))\b)",
    )
});

/// A description of at most 15 words that starts with a capitalised verb; `None` when its object is empty.
/// A pronoun is an object where the verb is one of getting in contact.
pub(super) fn description(task: &str, contact: bool, reference: &Reference) -> Option<String> {
    let task = without_condition(&without_date(task, reference));
    let asks = INDIRECT.is_match(&task);
    let task = if asks { task.into() } else { TAIL.replace(&task, "") };
    // In "let you know" they are no filler.
    let task = LET_YOU_KNOW.replace_all(&task, "${let} you-know");
    let task = FILLER.replace_all(&task, "").replace("you-know", "you know");
    let task = SPACES.replace_all(task.trim(), " ").replace(" ,", ",");
    let task = without_trailing(&first_words(&task, LONGEST));
    let object = task.split_once(' ').map_or("", |(_, object)| object);
    let whole = contact || !content_stems(object).is_empty() || MINUTES.is_match(&task);
    whole.then(|| capitalised(&restored(&task)))
}

/// `known` and `task` as one description; `None` when it is too long.
pub(super) fn joined(known: &str, task: &str, reference: &Reference) -> Option<String> {
    let more = description(task, true, reference)?;
    let whole = format!("{known} and {}", decapitalised(&more));
    (whole.split_whitespace().count() <= LONGEST).then_some(whole)
}

/// What one is to hear of, with the occasion: "Text you when it's done".
pub(super) fn report(task: &str, reference: &Reference) -> Option<String> {
    let task = without_date(task, reference);
    let task = TAIL_OF_REPORT.replace(&task, "");
    let task = FILLER.replace_all(&task, "");
    let task = SPACES.replace_all(task.trim(), " ").into_owned();
    let task = without_trailing(&first_words(&task, LONGEST));
    (task.split(' ').count() > 3).then(|| capitalised(&restored(&task)))
}

static TAIL_OF_REPORT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:,\s+(?:he|she|they|it|there|that|we|i|you|but|so|and|or|please|thanks|okay|yes|no)\b|\s+(?:because|so\s+that|so\s+(?:we|i|you))\b|[.;?!]\s|\s+[-–—]+\s).*$",
    )
});

fn without_date(task: &str, reference: &Reference) -> String {
    reference.due(task).map_or_else(|| task.to_owned(), |(date, _)| date.removed_from(task))
}

fn without_condition(task: &str) -> String {
    let Some(found) = CONDITION.captures(task) else { return task.to_owned() };
    let asks = matches!(
        found["last"].to_lowercase().as_str(),
        "check" | "see" | "ask" | "know" | "test" | "verify" | "confirm" | "out" | "him" | "her" | "them"
    );
    if asks { task.to_owned() } else { found["task"].to_owned() }
}

fn without_trailing(task: &str) -> String {
    let mut task = trimmed(task);
    while let Some(found) = TRAILING.find(&task) {
        // "Turn the heating on", "hand the keys in".
        if SWITCHES.is_match(&task) {
            break;
        }
        task = trimmed(task.get(..found.start()).unwrap_or_default());
    }
    task
}

static SWITCHES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:turn|switch|put|plug|hand|send|bring|fill|log|sign|try|let|call|get|take|move|pass|carry)\s+.*\s(?:on|in)$",
    )
});

fn trimmed(task: &str) -> String {
    task.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '-' | '"')
    })
    .to_owned()
}
