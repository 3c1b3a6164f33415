//! References to what was: they are masked before dates are looked for.

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

static PAST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \b(?:the\s+day\s+before\s+)?yesterday(?:\s+(?:morning|afternoon|evening))? \b
        | \b(?:last|past|previous)\s+(?:\w+\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?:\s+(?:morning|afternoon|evening|night))?
        | \b(?:last|past|previous)\s+(?:\w+\s+)?(?:night|days?|weeks?|weekends?|months?|quarters?|years?|summer|winter|spring|autumn|fall|time)\b
        | \blast\s+(?:january|february|march|april|may|june|july|august|september|october|november|december)\b
        | \b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a\ couple\ of|a\ few|several|some)\s+
          (?:minutes?|hours?|days?|weeks?|months?|years?)\s+(?:ago|earlier|old)\b
        | \b(?:for|took|takes|lasted|spent|after)\s+(?:about\s+|around\s+|almost\s+|over\s+)?(?:an?|the\ last|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a\ couple\ of|a\ few)\s+
          (?:minutes?|hours?|days?|nights?|weeks?|months?|years?)\b
        | \b(?:ran\s+out|expired|ended|began|started|arrived|broke(?:\s+down)?|failed|happened|left|came|went)\s+(?:(?:back|here|there|home)\s+)?(?:in|on|at)\s+
          (?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?:last\s+)?\p{L}+(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?
        | \b(?:i|we|he|she|they|you|it)\s+(?:already\s+|just\s+)?(?:met|saw|bought|paid|sent|said|told|did|had|got|made|took|gave|called|was|were)\s+(?:\p{L}+\s+){0,2}?(?:in|on)\s+
          (?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?)?\p{L}+(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?
        | \b(?:i|we|he|she|they|you|it)\s+(?:already\s+|just\s+|finally\s+)?(?:found|noticed|discovered|lost|broke|fell|slept|ate|watched|visited|finished|shipped|deployed)\s+
          (?:\p{L}+\s+){0,6}?(?:in|on)\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:\s+(?:morning|afternoon|evening|night))?\b
        | \bsince\s+(?:\w+\s+)?\w+\b
        | \bevery\s+\w+(?:\s+(?:morning|afternoon|evening|night))?\b
        | \b(?:today|tonight|tomorrow|yesterday)'s\b
    ",
    )
});

/// Of what is masked as past, what is not: "the last day of the month" is its end, "the last Friday of May" is to come.
static AHEAD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^\s+(?:of|in)\s+(?:the\s+(?:month|week|year|quarter)|this|next|january|february|march|april|may|june|july|august|september|october|november|december)\b",
    )
});

/// `text` (lower case) with every past, lasting or repeated time replaced by as many `#`.
pub(super) fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for found in PAST.find_iter(text) {
        let after = text.get(found.end()..).unwrap_or_default();
        if found.as_str().starts_with("last ") && AHEAD.is_match(after) {
            continue;
        }
        masked.push_str(text.get(at..found.start()).unwrap_or_default());
        masked.extend(std::iter::repeat_n('#', found.len()));
        at = found.end();
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    // "Moved from the 8th to the 10th": the 8th is over.
    if let Some(from) = MOVED.captures(&masked).and_then(|found| found.name("from").map(|from| from.range()))
    {
        masked.replace_range(from.clone(), &"#".repeat(from.len()));
    }
    masked
}

static MOVED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"\b(?:moved|postponed|pushed(?:\s+back)?|shifted|rescheduled|changed|switched|put\s+(?:off|back)|brought\s+forward)\s+(?P<from>from\s+(?:the\s+)?[\p{L}\d]+(?:\s+[\p{L}\d]+){0,2}?)\s+to\b",
    )
});
