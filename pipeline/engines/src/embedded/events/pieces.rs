//! The pieces of a sentence, each with a date and what happens then.

use std::ops::Range;
use std::sync::LazyLock;

use super::{is_usable, nouns};
use crate::embedded::dates::Found;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// Where a clause with its own subject begins.
static JOINT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:[;:]\s+|,\s+(?:(?:and|but|so|then|because|instead|while|as|or)\s+)*|\s(?:and|but|so|because|instead|while|though|although)\s+(?:then\s+|also\s+|so\s+)?)(?P<open>(?:(?:at|on)\s+(?:the\s+)?[\p{L}\d:]+\s+(?:i|we|he|she|they|there's)\b|i|we|you|he|she|they|it|there|there's|who|which|the|a|an|my|our|your|his|her|their|this|that|please|can|could|would|let's|don't|if|when|unless|in case|instead|someone|somebody|everyone|nobody)\b|(?:\p{L}+\s+){0,2}\p{L}+(?:'s|\s+(?:is|are|has|have|will|comes|starts|needs))\b)",
    )
});

/// Cuts `text` where a new subject begins, but never inside a date.
pub(super) fn pieces(text: &str, dates: &[Found]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut from, mut search) = (0, 0);
    while let Some(found) = JOINT.captures_at(text, search) {
        let (Some(whole), Some(open)) = (found.get(0), found.name("open")) else { break };
        search = open.start();
        let in_date = dates.iter().any(|date| {
            let span = |date: &Found| Some(date.spans.first()?.start..date.spans.last()?.end);
            // "Let's have a party, the Saturday after next".
            let led =
                text.get(open.range()).is_some_and(|open| matches!(open, "the" | "a" | "this" | "that"));
            span(date).is_some_and(|span| {
                (span.start < open.start() || led && span.start == open.start()) && open.start() < span.end
            })
        });
        // "On Sunday, we're going": a date alone is no clause.
        let says = says_more(text, from..whole.start(), dates);
        if !in_date && whole.start() > from && says {
            pieces.push(from..whole.start());
            from = open.start();
        }
    }
    pieces.push(from..text.len());
    pieces.into_iter().flat_map(|piece| between_dates(text, piece, dates)).collect()
}

/// "Haircut at half nine, then lunch with Ana at one": a piece for each date that says something of its own.
fn between_dates(text: &str, piece: Range<usize>, dates: &[Found]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut from = piece.start;
    let inside = dates.iter().filter(|date| is_usable(date)).filter_map(|date| {
        Some(date.spans.first()?.start..date.spans.last()?.end)
            .filter(|span| piece.start <= span.start && span.end <= piece.end)
    });
    let spans: Vec<Range<usize>> = inside.collect();
    for two in spans.windows(2) {
        let [one, other] = two else { continue };
        let gap = text.get(one.end..other.start).unwrap_or_default();
        let Some(joint) = SEQUEL.find(gap) else { continue };
        let sequel = gap.get(joint.end()..).unwrap_or_default();
        if nouns::happening_in(sequel).is_some() {
            pieces.push(from..one.end + joint.start());
            from = one.end + joint.end();
        }
    }
    pieces.push(from..piece.end);
    pieces
}

/// What joins a happening to the one before it.
static SEQUEL: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i),?\s+(?:and\s+then|and|then)\s+|,\s+"));

/// Whether `piece` has words besides dates and those that open a sentence.
fn says_more(text: &str, piece: Range<usize>, dates: &[Found]) -> bool {
    let mut at = piece.start;
    text.get(piece).unwrap_or_default().split_inclusive(char::is_whitespace).any(|part| {
        let place = at;
        at += part.len();
        let dated = dates.iter().flat_map(|date| &date.spans).any(|span| span.start < at && place < span.end);
        let word = part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        !dated
            && !matches!(
                word.as_str(),
                "" | "and" | "so" | "but" | "then" | "oh" | "okay" | "ok" | "well" | "on" | "at"
            )
    })
}
