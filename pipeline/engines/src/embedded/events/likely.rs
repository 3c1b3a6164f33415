//! Events in words that no rule reads, of sentences that most likely name one.

use std::sync::LazyLock;

use super::NAMELESS;
use crate::embedded::dates::Reference;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, content_stems, first_words, pattern, without_opening};

/// The odds from which a sentence has an event although no rule reads it, and below which it has none although one does.
pub(super) const LIKELY: f32 = 1.0;
pub(super) const UNLIKELY: f32 = -4.0;

/// What most likely takes place, in words that no rule reads: all but the date.
pub(super) fn title(words: &str, reference: &Reference) -> Option<String> {
    let mut text = words.to_owned();
    for date in reference.find(words).iter().rev() {
        text = date.removed_from(&text);
    }
    let text = without_opening(&text);
    let text = LED.replace(&text, "");
    let text = OWN.replace(&text, "");
    let title = SPACED.replace_all(&text, "$mark");
    let title = UNENDED.replace(&title, "");
    let title = first_words(title.trim_matches(|c: char| !c.is_alphanumeric()), LONGEST);
    let named = !UNNAMED.is_match(&title) && !NAMELESS.is_match(&title);
    (named && !content_stems(&title).is_empty()).then(|| capitalised(&title))
}

/// Where a date stood before a mark.
static SPACED: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\s+(?P<mark>[,;:.])"));
/// How a clause begins that says what a speaker does: it is not the name of an event.
static UNNAMED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:i|we|you|he|she|they|it|let|to|that|this|who|what|if|and|but|so|can|could|would|will|shall|before|after|until|when|with)\b",
    )
});
/// Who does it, where the speakers do.
static OWN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:and|but|so|then|good|great|ok|okay)\s+)*(?:i\s+propose\s+(?:that\s+)?we|i|we|you)(?:'ll|'d|'re|'m|'ve|\s+(?:will|shall|should|would|can|could|are|am|have))?\s+(?:(?:just|all|both|also|then|still|of\s+course|probably)\s+)*(?:(?:be|got|get|going\s+to|gonna|like\s+to|love\s+to)\s+)?",
    )
});
/// What stood before the date at the end.
static UNENDED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)(?:\s+(?:is|are|will\s+be|to|on|at|from|until|till|by|and|the|for))+\W*$")
});
/// Words of a title, at most.
const LONGEST: usize = 10;
static LED: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:the|there's|there\s+is|it's|it\s+is|for)\s+"));
