//! Sentences that state a decision.

use std::sync::LazyLock;

use super::pattern::Pattern;
use super::text::pattern;

static DECISION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(?:we|they|i|us|everyone|the\ \w+)(?:'ve|\ have|\ has|\ all|\ both)?\ (?:agreed|decided|settled|chose|resolved|voted|approved|concluded|committed)\b
        | \b(?:it's|it\ is|it\ was|that's|that\ is)\ (?:decided|agreed|settled|approved)\b
        | \bthe\ decision\ is\b | \bwe(?:'re|\ are)\ going\ with\b | \bwe(?:'ll|\ will)\ go\ with\b | \bfinal\ decision\b | ^\W*agreed,\ we\b
        | \blet's\ (?:go\ with|postpone|run|move|use|switch|drop|cancel|adopt|keep)\b",
    )
});
static DENIED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:haven't|have not|not yet|didn't|hasn't|never|have you|should we|what have we|if)\b")
});

/// Whether a sentence states a decision.
pub(super) fn is_decision(sentence: &str) -> bool {
    DECISION.is_match(sentence) && !sentence.ends_with('?') && !DENIED.is_match(sentence)
}
