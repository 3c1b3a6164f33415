//! Orders by what they begin with: those that ask for attention alone, and those that ask for something to be done.

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// Verbs that ask the listener for attention and not for work.
pub(super) static ATTENTION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:open\s+wide|breathe\s|bite\s+down|rinse|lie\s+(?:down|back)|sit\s+(?:down|up)|take\s+a\s+(?:seat|deep\s+breath)|hear|see|believe|imagine|tell\s+(?:me|us)|remember|explain|repeat|say|hold|wait|help|understand|stop|come|speak\s+up|pass\s+(?:me|the)\s+(?:salt|butter)|read\s+(?:me|us|it|that)|(?:open|close|shut)\s+(?:a|the|that)\s+(?:windows?|doors?|curtains?|blinds?)|(?:turn|switch)\s+(?:(?:it|that|(?:the|that|your)\s+(?:lights?|music|tv|television|radio|volume|camera|microphone|mic))\s+)?(?:on|off|up|down)|(?:share|see)\s+(?:my|your|the)\s+screen|give\s+(?:me|us|it|them|him|her|you)\s+(?:an?\s+)?(?:second|sec|minute|moment|break|hand|try|go|chance|rest|time|clue|hint|five|example|shout)|keep\s+(?:going|quiet|calm|still|talking|it|up|me|us|in\s+mind|in\s+touch|your\s+(?:voice|hands|eyes|back|shirt|hair|head|cool|distance)|straight|well|safe|warm)|skip\s+(?:it|this|that|ahead)|leave\s+(?:it|me|us|that|him|her)|put\s+(?:it|that)\s+(?:down|away|on|there|here|like)|put\s+your|use\s+(?:your|it|that)|make\s+(?:yourself|a\s+(?:wish|film|movie|joke)|up|room|way|fun|do)|do\s+(?:you|what|the\s+same|not|so|come)|eat\s+up|drink\s+up|thank\s+(?:you|god|goodness|heavens?|the\s+lord)|excuse|forgive|join|stay|be|do\s+(?:that|it|me))\b",
    )
});

/// "Let the school know he's ill".
pub(super) static LETS_KNOW: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^let\s+(?:\p{L}+\s+){1,3}?know\s+\p{L}"));

/// "Have a look at the diagram", "have a word with Tom".
pub(super) static LOOKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^have\s+an?\s+(?:\p{L}+\s+)?(?:look|word|chat|talk|think)\s+(?:at|with|about|through)\s+(?:the|your|my|our|his|her|their|an?|page|chapter|(?-i:\p{Lu}))",
    )
});

/// "Stop taking the tablets".
pub(super) static QUITS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^stop\s+(?:taking|eating|drinking|using|feeding|paying|sending|smoking)\s+\p{L}")
});

/// "See if Tom can do Saturday", "find out whether it's insured".
pub(super) static SEES_IF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^see\s+(?:if|whether)\s+(?:(?:the|my|our|your|his|her)\s+\p{L}+|they|he|she|there|(?-i:\p{Lu})\p{L}+)\b",
    )
});
/// Verbs that order with a particle, or with an object that is no thing: "loop Sam in", "go easy on the salt".
pub(super) static IDIOMS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^(?:
            loop\s+(?:in\s+)?(?-i:\p{Lu})\p{L}+ | cc\s+(?:me|us|him|her|them|(?-i:\p{Lu})\p{L}+)
          | copy\s+(?:me|us|him|her|them|(?-i:\p{Lu})\p{L}+)\s+in | circle\s+back\s+(?:with|to|on) | touch\s+base\s+with
          | shoot\s+\p{L}+\s+(?:an?|the)\s | spin\s+up\s | lay\s+off\s+(?:the|your)\s
          | go\s+(?:easy\s+on|back\s+to|over|through|and\s+see|see)\s+(?:the|your|my|our|his|her)\s
          | look\s+(?:up|out|after|into|over|through)\s+(?:the|your|my|our|his|her|an?|some|that)\s
          | keep\s+(?:me|us|him|her|them)\s+(?:posted|updated|informed|in\s+the\s+loop)
          | mind\s+the\s+(?:kids|children|baby|dog|shop|house)
          | see\s+(?:the|your|my|an?)\s+(?:\p{L}+\s+){0,2}?(?:nurse|doctor|gp|dentist|vet|physio|lawyer|solicitor|accountant|optician|pharmacist|manager|specialist|consultant|therapist|counsellor|dermatologist|cardiologist|surgeon|orthodontist|dietician|physiotherapist|psychologist)\b
          | (?:put|stick|pop|add|get|write|enter)\s+(?:it|that|this|them|those)\s+(?:all\s+)?(?:in|on|into|onto|to|down\s+in)\s+(?:the|your|my|our|an?)\s+
            (?:post|mail|e-?mail|agenda|list|calendar|board|bill|minutes|notes|spreadsheet|system|folder|drive|wiki|ticket|freezer|fridge|oven|safe)
        )",
    )
});
/// "Come back to me in two weeks", "pop in on Thursday": counts with a date.
pub(super) static COMES: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:come|pop|call|drop)\s+(?:back|in|round|over|by|along|up|down)\b"));
/// "Turn off the heating": what costs money or burns.
pub(super) static TURNS_OFF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:turn|switch)\s+(?:(?:off|on)\s+)?(?:the|your)\s+(?:heating|oven|gas|water|alarm|boiler|iron|cooker|immersion|router|sprinklers?|machine|computer|engine|stove|pump|heater)\b",
    )
});

/// What sounds like an order of the moment, and is none.
pub(super) fn is_real(task: &str) -> bool {
    [&SEES_IF, &IDIOMS, &COMES, &TURNS_OFF, &QUITS].iter().any(|rule| rule.is_match(task))
}

/// "Put the bins out", "put aside ten percent".
pub(super) static PUTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:put|set|stick|pop|leave)\s+(?:(?:aside|out|up|together|forward)\s+\p{L}|(?:\p{L}+\s+){1,2}(?:on|in|into|under|over|around|round|onto|behind|against|between|through)\s+(?:the|your|my|our|each|every|both|all)\s+\p{L}|(?:the|your|my|our|some|all)\s+(?:\p{L}+\s+){1,3}(?:aside|out|away|up|back|together|on|in|into|forward)\b)",
    )
});

/// What "put it there" puts: such orders are for the moment.
pub(super) const PRONOUNS: &[&str] =
    &["it", "them", "this", "that", "these", "those", "me", "you", "him", "her", "yourself"];

/// "Have your eyes checked", "have the lawyer look over it".
pub(super) static CAUSES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^have\s+(?:everything|everyone|the|your|my|our|his|her|them|him|it|that|this|someone|somebody|a|an|mum|mom|dad|(?-i:\p{Lu})\p{Ll}+)\s+\p{L}",
    )
});

/// Verbs of orders about "it" that are tasks for later, not done on the spot.
pub(super) const HANDED_ON: &[&str] = &[
    "book", "send", "forward", "mail", "email", "post", "order", "sign", "pay", "return", "renew", "print",
    "practise", "practice", "learn", "cancel", "upload", "scan", "submit", "copy",
];

/// What one does to "it" at once.
pub(super) const OF_THE_MOMENT: &[&str] = &[
    "get", "take", "turn", "open", "close", "show", "tell", "hang", "hand", "move", "run", "read", "start",
    "throw", "follow", "walk", "see", "try", "hear", "stop", "pick", "choose", "speak", "learn", "swap",
    "press", "switch",
];

/// "I always make sure", "he made sure".
pub(super) static HABIT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:i|we|they)\s+(?:always|usually|normally|try\s+to|used\s+to)\s+$"));

/// "Get a letter by Friday": what is only to be expected.
pub(super) static AWAITS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:get|receive|hear|see|notice|feel|find|expect)\s+(?:(?:an?|the|your|our|some)\s+(?:\p{L}+\s+){0,2}?(?:letter|e-?mail|text|call|message|confirmation|notification|reply|answer|refund|invoice|results?|link|code|reminder|response|improvement|difference|update)\b|from\b|back\s+from\b)",
    )
});

/// "Don't forget Milo's present", "don't forget towels".
pub(super) static FORGOTTEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?:(?-i:\p{Lu}\p{Ll}+)'s\s|[\p{L}-]{5,}s\b|some\s|two\s|sunscreen|cash\b)")
});

pub(super) static SOFTLY: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:maybe|perhaps)\b"));

/// "Be there to let him in": what one is there for.
pub(super) static PRESENT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^be\s+(?:there|here|in|around|round|over|along|about|available|ready|home|at\s+home)\s+(?:to|and)\s+",
    )
});

/// "Can I have your customer number?", "give me the postcode": what one answers in the next line.
pub(super) static ANSWERED_AT_ONCE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:provide|confirm|give\s+(?:me|us)|tell\s+(?:me|us))\s+(?:your|the|an?|his|her)\s+(?:[\p{L}-]+\s+){0,3}?(?:number|surname|name|postcode|zip\s+code|date\s+of\s+birth|birthday|age)(?:,.*|\s+(?:to|or|on|and|for|from|at|please)\b.*)?$|provide\s+your\s+(?:(?:driving|driver's)\s+)?(?:licence|license|id|passport|ticket|card)\b(?:\s+and\s.*)?$|keep\s+(?:it|this|that)\s+(?:short|brief|quick|simple|down)\b)",
    )
});

/// "Call it a day", "give them until Friday", "get married": what is said and not done.
pub(super) static SAID_ONLY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:call\s+(?:it|that|this)\s+(?:an?|quits)\b|give\s+(?:it|them|him|her|me|us)\s+(?:until|till|an?\s+(?:week|day|month|go|try|chance))\b|get\s+(?:married|engaged|divorced)\b|(?:put|pass|transfer|connect)\s+(?:you|him|her|them)\s+(?:through|on\s+hold|on\s+to|over\s+to)\b|(?:pop|stick|put)\s+the\s+kettle\b|check\s+(?:that|this|it)\s+for\s+you\b)",
    )
});

/// "Make sure you tell them": what, the talk does not say.
pub(super) static TELLS_NOTHING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:tell|ask)\s+(?:him|her|them)\W*$"));
