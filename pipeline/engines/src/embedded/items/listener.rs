//! Whether a sentence asks the listener for something.

use std::sync::LazyLock;

use super::Force;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{Sentence, pattern};

/// Whether a clause that claims a task with this force asks the listener.
pub(super) fn asks_listener(force: Force, clause: &str) -> bool {
    match force {
        Force::Request | Force::Imperative => !ANYBODY.is_match(clause),
        Force::Obligation => YOU_MUST.is_match(clause),
        _ => false,
    }
}

/// Whether a sentence begins a lesson or a letter, or asks what became of a plan, and asks for nothing.
pub(super) fn only_begins(sentence: &str) -> bool {
    OF_LESSON.is_match(sentence)
        || OF_AGENDA.is_match(sentence) && !LATER.is_match(sentence)
        || IS_WRITING.is_match(sentence)
        || MEANT_TO.is_match(sentence)
}

/// "Good morning, let's go through the release plan", and not "let's go over the numbers on Friday".
static OF_AGENDA: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:good\s+(?:morning|afternoon|evening)|hello|hi|so|okay|ok|right|well|now|and|alright|everyone|everybody|all)\W+)*let's\s+(?:just\s+|quickly\s+)?(?:go|run|walk|talk)\s+(?:quickly\s+)?(?:over|through)\b",
    )
});
static LATER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:to(?:morrow|night)|later|next|on|at|before|after|when|once|this|\p{L}+day|week|weekend|soon|sometime)\b",
    )
});

/// "You were going to get the guitar back, weren't you?": what became of it.
static MEANT_TO: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:were|was)\s+going\s+to\b.*,\s+(?:weren't|wasn't)\s+\p{L}+\s*\?"));

/// "Today let's look at acids": what begins at once.
static OF_LESSON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:so|okay|ok|right|well|now|and|alright|everyone)\W+)*(?:today|now|first|next|this\s+time)\W+(?:let's|we'll|we\s+will|we're\s+going\s+to)\s+(?:have\s+a\s+)?(?:look|talk|start|begin|go\s+(?:over|through)|discuss|hear|see|turn|move)\b",
    )
});
/// "I am writing about the hall": a letter begins.
static IS_WRITING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bi(?:'m|\s+am)\s+(?:writing|getting\s+in\s+touch|contacting\s+you|reaching\s+out)\s+(?:to\s+you\s+)?(?:about|because|regarding|concerning|with\s+regard|to\s+(?:ask|let|inform|tell|confirm|thank|complain|apologi[sz]e|enquire|request)|on\s+behalf)\b",
    )
});
/// "If there's a problem, call me": what one does then.
pub(super) static TURNS_TO_ME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:call|ring|phone|contact|email|text|message|reach|let|tell|ask|give|write|come|speak|talk|get)\s+(?:back\s+|out\s+)?(?:to\s+)?(?:me|us)\b|(?:come\s+back|get\s+in\s+touch|speak\s+up|shout)\b)",
    )
});
/// "Could somebody …": nobody in particular has the task.
static ANYBODY: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:some(?:one|body)|any(?:one|body)|every(?:one|body))\b"));
static YOU_MUST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\byou(?:'ll|\s+will)?\s+(?:also\s+|just\s+|still\s+)?(?:need|have|should|must|ought|can)\b|\byou'd\s+better\b",
    )
});

/// "Order more ribbon, will you?", "grab some milk, yeah?": an order, and no question.
static TAG: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:,?\s+(?:will|would|can|could|won't|can't)\s+(?:you|ya|yous)|,\s+(?:yeah|yes|ok|okay|right|alright|all\s+right|please|eh|huh|no|love|mate))(?:\s+please)?\s*\?+$",
    )
});
/// What begins a real question.
pub(super) static ASKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|ok|okay|well|hey|oh|right)\W+)*(?:is|are|am|was|were|do|does|did|can|could|would|will|shall|should|have|has|had|may|might|what|when|where|who|why|how|which|whose|any|you)\b",
    )
});

/// The order that a question with a tag gives.
pub(super) fn without_tag<'t>(sentence: &Sentence<'t>) -> Option<Sentence<'t>> {
    let tag = TAG.find(&sentence.text).filter(|_| !ASKS.is_match(&sentence.text))?;
    let text = format!("{}.", sentence.text.get(..tag.start())?.trim_end_matches([',', ' ']));
    Some(Sentence { text, ..sentence.clone() })
}
