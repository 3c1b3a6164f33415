//! How a clause is tied to those beside it: what it is for, when it holds, what opens the sentence.

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// "So that you can get at the valve".
pub(super) static AIM: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bso(?:\s+that)?\s*$"));
/// "Or else you'll have to pay": what follows from not doing it.
pub(super) static ELSE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:or\s+else|otherwise)\W*$"));
/// "When I'm home", "as soon as it's signed": when, and not whether.
pub(super) static TIMELY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|well|ok|okay)\W+)*(?:when|once|as\s+soon\s+as|next\s+time|the\s+(?:minute|moment))\b",
    )
});
pub(super) static WILL: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:i'll|i\s+will|i'm\s+going\s+to|i'm\s+gonna)\b"));

/// A finite verb that states something.
pub(super) static STATES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:is|are|isn't|aren't|has|have|hasn't|haven't|needs?|doesn't|comes?|leaves?|starts?|\p{L}+'s|\p{L}+'re|\p{L}+'ve)\b",
    )
});

/// A modal, an infinitive or a past tense, with which a bare verb may go on.
pub(super) static LEADS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:would|could|can|will|should|might|may|must|shall|used|let's|let|do|did|does|don't|didn't|to\s+\p{L}+|make|makes|made|help|helps|was|were|had|\p{L}+'ll|\p{L}+'d|gonna|wanna|i|we|he|she|they)\b",
    )
});

/// Words that open a sentence without a subject of their own.
pub(super) static OPENER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|ok|okay|well|then)\W+)*(?:(?:for|on|by|before|after|until|in|at|from|first|over|during|next|this|tomorrow|today|tonight)(?:\s+[\p{L}\d:'-]+){0,5}|(?:yes|no|yeah|sure|ok|okay|great|good|fine|right|thanks|thank|please|perfect|alright|all|lovely|problem|thing|course|of|you|homework|note\s+to\s+self|reminder(?:\s+to\s+self)?|memo(?:\s+to\s+self)?|to\s+do|action\s+items?|ah|oh|aye|well|now|instead|also|finally|lastly|secondly|and)(?:\W+(?:yes|no|yeah|sure|ok|okay|great|good|fine|right|thanks|please|thank|you|problem|thing|all|then|idea|point|of|course|again))*)\W*$",
    )
});

/// "I'll get the paint and you get the brushes."
pub(super) static DIVIDES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\bi(?:'ll|\s+will|\s+can)\s.*[\s,]you\s|\byou\s.*[\s,]i(?:'ll|\s+will|\s+can)\s")
});
