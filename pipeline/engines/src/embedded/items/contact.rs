//! Tasks whose object is a person, and those that need none: "ring me back", "let him in", "text you when it's done".

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// "Ring me back", "get back to him".
pub(super) static CONTACT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:call|phone|ring|text|email|message|ping|remind|contact|(?:get\s+back|come\s+back|reply|revert|write|report|speak|talk)\s+to|(?:check|coordinate|speak)\s+with)\s+(?:me|us|you|him|her|them|both|everyone|everybody|you\s+both)\b|^tell\s+(?:him|her|them|everyone|everybody)\b|^let\s+(?:me|us|you|him|her|them)\s+know\b|^(?:lock|tidy|clear|clean|wash|log|sign|check|set|hoover|pack)\s+(?:up|out|in|down)\b|^(?:pick|drive|fetch|collect|drop|bring|take|meet)\s+(?:you|him|her|them)\b(?:\s+(?:up|off|back|home|over|round|to|from|at|for|there|on)\b|\W*$)",
    )
});

/// "I'll drive you", "let him in", "read with her": what is done for a person.
pub(super) static HELPS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:drive|fetch|introduce)\s+(?:you|him|her|them|us)\b|pick\s+(?:you|him|her|them|us)\s+up\b|let\s+(?:him|her|them|us)\s+in\b|get\s+back\s+to\s+(?:me|us|you|him|her|them)\s+(?:on|about|with|regarding)\b|cover\s+for\s+(?:me|us|you|him|her|them|(?-i:\p{Lu})\p{L}+)\b|(?:read|practise|practice|play|work|sit)\s+with\s+(?:him|her|them)\b)",
    )
});

/// "I'll tell them", "I'll fix that", "I'll go over it".
pub(super) static PLEDGED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:tell|inform|ask|call|phone|ring|text|email|message|remind|warn|invite|pay|thank|contact|write\s+to|speak\s+to|talk\s+to|check\s+with)\s+(?:him|her|them|everyone|everybody|the\s+others)\b|(?:fix|correct|change|update|check|sort|order|book|print|sign|send|bring|fetch|collect|borrow|lend|clean|wash|repair|replace|add|write|post|deliver|return|cancel|buy|get|pick\s+up|look\s+into|look\s+after|look\s+at|go\s+over|go\s+through|see\s+to|sort\s+out|put|take|move|upload|share)\s+(?:it|that|them|those|both|his|hers|yours|mine|one|another\s+one|(?:you|him|her|them)\s+(?:mine|one|it|that|some))\b)",
    )
});

/// "I'll bake on Thursday": what is done without naming a thing.
pub(super) static ALONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:bake|cook|check|iron|hoover|vacuum|clean|tidy|mow|shop|pack|transfer|pay|reply|rehearse|practise|practice|study|revise|decide|(?:do|go)\s+(?:the\s+)?(?:shopping|cooking|cleaning|ironing))(?:\s+(?:on|at|by|before|this|next|tomorrow|tonight|today|first|then)\b|\W*$)",
    )
});

/// "I'll cook", "you need to sign": what is done without a thing, whatever the day.
pub(super) static INTRANSITIVE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:cook|bake|hoover|vacuum|sign|register|practise|practice|rehearse|apply|vote|reply|babysit|tidy\s+up|clean\s+up|wash\s+up|lock\s+up|set\s+up|check\s+in|sign\s+up|sign\s+in|log\s+in|take\s+(?:the\s+|a\s+|that\s+)?(?:day|morning|afternoon|week|(?:mon|tues|wednes|thurs|fri)day)\s+off)(?:\s+(?:for|with|there|here|at|before|after|every|on|by|then|too|as\s+well|again|online|again)\b.*|\W*)$",
    )
});

/// "Text him tonight", "pick her up": not "her" of "her bag".
pub(super) static TO_PERSON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<verb>(?:call|phone|ring|text|email|message|ask|tell|write(?:\s+to)?|talk\s+to|speak\s+(?:to|with)|meet|visit|invite|remind|contact|thank|pay|pick|collect|fetch|drive|take|bring|drop|give|show|help|send|lend|book)\s+)(?:him|her)(?P<after>\W*$|\s+(?:every|each|the|an?|to|at|on|in|up|out|about|from|for|back|some|that|this|off|over|tomorrow|today|tonight|by|and|with|home|round|along|there|into|later|again|right|straight|soon|now|then|before|after|if|when|whether)\b)",
    )
});

/// "Text you when it's done", "ring me if it gets worse": what one is to hear of need not be named before.
pub(super) static REPORTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:call|phone|ring|text|email|message|ping|notify|warn)\s+(?:me|us|you|him|her|them|\p{L}+)(?:\s+back)?|let\s+(?:(?:the|my|our|your)\s+)?\p{L}+\s+know|(?:find|figure|work)\s+out|check|look|confirm|see|ask(?:\s+(?:(?:the|my|our|your)\s+)?\p{L}+)?|write\s+down|tell\s+(?:him|her|them|mum|mom|dad|(?:the|my|our|your)\s+\p{L}+|(?-i:\p{Lu})\p{L}+)|(?:come|get)\s+back(?:\s+to\s+\p{L}+)?)\s+(?:if|when|before|after|as\s+soon\s+as|once|whether|what|how|which|where|who)\b",
    )
});
pub(super) static COURTESY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:if\s+you\s+(?:need|have|want|like|can|could|get|change|think|are)|if\s+there(?:'s|\s+is|\s+are)|when\s+you(?:'re|\s+get|\s+are)\s+(?:home|back|in|there)|what\s+you\s+think|how\s+(?:it|you|that|things|we|i)|if\s+(?:that|this|it|i|we|you)|what\s+(?:i|we|you|happens|happened|it|that)|what\s+(?:i|we)\s+mean|you\s+know\s+(?:that|what|how))\b",
    )
});
