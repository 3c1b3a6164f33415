//! Facts in words that no rule reads, of sentences that most likely state one.

use std::sync::LazyLock;

use super::rules::{DATED, DOUBT};
use super::{Candidate, candidate, category_of, in_full, rest};
use crate::embedded::capitals::restored;
use crate::embedded::pattern::Pattern;
use crate::embedded::reported::in_third_person;
use crate::embedded::text::{capitalised, pattern, without_opening};

/// The odds from which a sentence states a lasting fact although no rule reads it.
pub(super) const LIKELY: f32 = 0.2;

/// What a sentence states that most likely is a lasting fact, in words that no rule reads.
pub(super) fn fact(text: &str, name: &str, meant: Option<&str>) -> Option<Candidate> {
    if DATED.is_match(text) || DOUBT.is_match(text) || MUST.is_match(text) {
        return None;
    }
    let text = without_opening(text);
    let told = if let Some(of) = OF_MINE.captures(&text) {
        format!("{{n}}'s {}", &of["rest"])
    } else if let (Some(of), Some(meant)) = (OF_ANOTHER.captures(&text), meant) {
        format!("{meant} {}", in_full(&of["rest"]))
    } else {
        in_third_person(&capitalised(&restored(&text)), || "{n}".to_owned())?
    };
    let told = rest(&told)?;
    let category = category_of(&told);
    candidate(&told, name, category, OF_LIKELY)
}

/// The score of a fact that no rule reads.
const OF_LIKELY: u8 = 5;
/// Obligations and places of the moment do not last.
static MUST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:have\s+to|has\s+to|need\s+to|needs\s+to|got\s+to|must|i'll|we'll|(?:is|are|'s|'re)\s+(?:in|at|on)\s+the)\b",
    )
});
static OF_MINE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^(?:my|our)\s+(?P<rest>.+)$"));
static OF_ANOTHER: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^(?:he|she)(?P<rest>(?:'s|\s)\s*.+)$"));
