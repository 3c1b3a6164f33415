//! Who is to do what, said by a noun: "the drinks are on me", "Lars is in charge of the music", "I owe Carla an
//! answer", "what's missing is the signature", "bins tonight".

use std::borrow::Cow;
use std::sync::LazyLock;

use super::paraphrases::Paraphrases;

/// A thing with its determiner.
const THING: &str =
    r"(?:the|my|our|your|his|her|their|that|those|these|this|all\s+the)\s+[\p{L}'-]+(?:\s[\p{L}'-]+)?";
/// A person by name or by kinship.
const PERSON: &str = r"(?-i:\p{Lu}\p{Ll}+)|(?:my|our|your)\s+\p{L}+";
/// Words with which a sentence begins.
const LEAD: &str = r"(?P<lead>^\W*(?:(?:and|but|so|oh|also|then|well|ok|okay|right|please|yes|no|first|second|next|now)\W+)*)";

static DUTIES: LazyLock<Paraphrases> = LazyLock::new(|| {
    let rule = |said: &str, plain: &'static str| {
        let said = said.replace("{THING}", THING).replace("{PERSON}", PERSON).replace("{LEAD}", LEAD);
        (format!(r"(?i){said}"), plain)
    };
    Paraphrases::of(
        [
            // Who bears it.
            rule(
                r"\b(?P<what>{THING}|(?:\p{L}+\s)?\p{L}+s)(?:\s+is|'s|\s+are|'re)\s+(?:all\s+)?on\s+me\b",
                "i'll take care of ${what}",
            ),
            rule(
                r"\b(?P<what>{THING})(?:\s+is|'s|\s+are|'re)\s+(?P<who>(?-i:\p{Lu}\p{Ll}+))'s\s+(?:job|task|turn|responsibility|department|baby)\b",
                "${who} will take care of ${what}",
            ),
            rule(
                r"\b(?P<what>{THING})(?:\s+is|'s|\s+are|'re)\s+(?:mine|my\s+(?:job|task|responsibility))\s+(?P<rest>to\s+(?:do|sort|fix|finish|write)\b)",
                "i'll take care of ${what}",
            ),
            rule(
                r"\b(?P<who>{PERSON})(?:'s|\s+is|'ll\s+be|\s+will\s+be)\s+(?:in\s+charge\s+of|responsible\s+for|looking\s+after|taking\s+care\s+of|seeing\s+to|dealing\s+with)\s+(?P<what>the\s+\p{L})",
                "${who} will take care of ${what}",
            ),
            rule(
                r"\b(?:you're|you\s+are)\s+(?:still\s+)?on\s+(?P<what>(?:\p{L}+\s+)?)(?:duty|rota)\b",
                "you have to do the ${what}duty",
            ),
            rule(
                r"\bwho(?:'s|\s+is)\s+(?:on|in\s+charge\s+of|responsible\s+for|down\s+for)\s+(?P<what>(?:the\s+)?[\p{L}-]+)(?P<rest>(?:\s+(?:this|next|on|at|tonight|today|tomorrow)\b.*)?)\?",
                "who's going to do the ${what}${rest}?",
            ),
            rule(
                r"\b(?P<lead>you\s+can\s+|please\s+|just\s+)?put\s+me\s+down\s+for\s+(?P<what>(?:the|an?|some)\s+\p{L}+(?:\s\p{L}+)?)",
                "i'll take care of ${what}",
            ),
            rule(
                r"\bi(?:'m|\s+am)\s+putting\s+you\s+down\s+for\s+(?P<what>(?:the|an?|some)\s+\p{L})",
                "you have to take care of ${what}",
            ),
            rule(r"\b(?P<lead>and\s+|then\s+)?i\s+take\s+(?P<rest>(?:the|on)\s+\p{L})", "${lead}i'll take ${rest}"),
            // What is owed and promised.
            rule(
                r"\b(?P<who>i|we|you)\s+(?:still\s+|both\s+)?owe\s+(?P<whom>(?:the|my|our)\s+[\p{L}-]+|\p{L}+)\s+(?P<what>an?\s+(?:big\s+|proper\s+|quick\s+|[\p{L}]+-)?(?:[\p{L}-]+\s+)?(?:call|ring|answer|reply|letter|e-?mail|message|card|visit|report|draft|list|copy|text|postcard|apology|response|present|gift|update|document|form|photo|pictures?)\b)",
                "${who} need to give ${whom} ${what}",
            ),
            rule(
                r"\bi\s+promised\s+(?P<whom>(?:the|my|our)\s+[\p{L}-]+|(?-i:\p{Lu}\p{Ll}+))\s+(?P<what>an?\s+(?:[\p{L}-]+\s+)?[\p{L}-]+)(?P<rest>\W*(?:\bby\b|\bfor\b|\bon\b|\btomorrow\b|$))",
                "i need to get ${whom} ${what}${rest}",
            ),
            rule(
                r"\byou(?:'re|\s+are)\s+(?P<gerund>bringing|buying|getting|picking|collecting|fetching|booking|ordering|organising|organizing|cooking|baking|paying|sending|writing|doing)\s+(?P<rest>(?:up\s+)?(?:the|some|my|our)\s)",
                "you have to {g} ${rest}",
            ),
            rule(
                r"\b(?P<what>{THING})\s+(?:still\s+|also\s+)?(?:needs|need|has|have|must)\s+(?:to\s+)?(?:go|get)\s+(?P<rest>to\s+(?:the|my|our|your|(?-i:\p{Lu})\p{L}+)\b)",
                "we need to get ${what} ${rest}",
            ),
            rule(
                r"\baction(?:\s+(?:item|point))?\s*:\s*(?P<who>(?-i:\p{Lu}\p{Ll}+))\s*(?:\s[-–]|:)\s*(?:to\s+)?(?P<rest>\p{Ll})",
                "${who} to ${rest}",
            ),
            // What is left, missing or short.
            rule(
                r"\b(?:what|all(?:\s+that)?)(?:'s|\s+is)\s+left(?:\s+to\s+do|\s+now|\s+for\s+\p{L}+)*\s+is\s+(?P<what>(?:the|my|our|your)\s)",
                "please do ${what}",
            ),
            rule(
                r"\b(?:what|all(?:\s+that)?|the\s+only\s+thing)(?:(?:'s|\s+is|\s+that's)\s+left|\s+left)(?:\s+to\s+do)?(?:\s+is|'s)\s+(?:to\s+)?(?P<rest>(?:wrap|write|send|call|book|buy|clean|pack|paint|pay|sign|print|check|fix|order|finish|collect|wash)\s)",
                "we need to ${rest}",
            ),
            rule(
                r"\b(?:what(?:'s|\s+is)\s+(?:still\s+)?missing|the\s+only\s+thing\s+(?:that's\s+)?(?:still\s+)?missing|what\s+we(?:'re|\s+are)\s+(?:still\s+)?missing|what\s+(?:i|we)\s+still\s+need|all\s+(?:i|we)\s+(?:still\s+)?need(?:\s+now)?)(?:\s+(?:is|are)|'s)\s+(?P<what>(?:the|my|our|your|an?|some|two|three|four)\s)",
                "please get ${what}",
            ),
            rule(
                r"\bwe(?:'re|\s+are)\s+(?:still\s+)?missing\s+(?P<what>(?:the|your|an?|two|three|some)\s)",
                "please get ${what}",
            ),
            rule(
                r"\b(?:i|we)\s+still\s+(?:haven't|have\s+not)\s+(?:got|had|received|seen)\s+(?P<what>(?:the|your|an?|any|all\s+the)\s)",
                "please provide ${what}",
            ),
            rule(
                r"\bwe\s+(?:still\s+|also\s+)*need\s+(?P<what>(?:somebody|someone)\s+(?:for|on|at|in)\s+(?:the|this|that|our)\s)",
                "please find ${what}",
            ),
            rule(r"{LEAD}still\s+need\s+(?P<rest>\p{L})", "${lead}i still need ${rest}"),
            rule(
                r"\bthere(?:'s|\s+is|\s+are)\s+(?P<what>an?\s+(?:[\p{L}-]+\s+){1,2}?)(?P<where>(?:in|on|at|under|behind)\s+(?:the|my|our)\s+[\p{L}-]+\s+)?(?:that|which)\s+needs?\s+(?P<gerund>\p{L}{2,}ing)\b",
                "please {g} the ${what}${where}",
            ),
            // What is to be done, in the past tense or as a participle.
            rule(
                r"\b(?:it(?:'s|\s+is)\s+)(?:high\s+|about\s+)?time\s+(?:that\s+)?(?P<who>we|you|somebody|someone|i)\s+(?P<past>\p{L}+)\s",
                "${who} should {p} ",
            ),
            rule(r"{LEAD}(?:it(?:'s|\s+is)\s+)?(?:high\s+|about\s+)?time\s+(?:for\s+(?:us|you|me)\s+)?to\s+(?P<rest>(?:renew|replace|change|book|clean|order|call|check|buy|cut|wash|send|pay|update|clear|tidy|water|plant|paint|service|feed|pack)\s)", "${lead}we need to ${rest}"),
            rule(
                r"\b(?:it\s+would|it'd|that'd|that\s+would)\s+be\s+(?:really\s+|so\s+|very\s+)?\p{L}+\s+if\s+(?P<who>somebody|someone|we|one\s+of\s+(?:you|us))\s+(?P<past>\p{L}+)\s",
                "${who} should {p} ",
            ),
            rule(
                r"\byou(?:'d|\s+would)\s+(?:really\s+)?(?:do\s+me\s+a\s+(?:big\s+)?fav(?:o|ou)r|help\s+me\s+(?:out|a\s+lot)|make\s+my\s+day)\s+if\s+you\s+(?P<past>\p{L}+)\s",
                "please {p} ",
            ),
            rule(r"\bideally,?\s+you(?:'d|\s+would)\s+(?P<rest>\p{L})", "please ${rest}"),
            rule(r"\blet\s+us\s+have\s+(?P<what>(?:the|your|an?|some)\s)", "give us ${what}"),
            rule(
                r"\blet's\s+(?P<get>get|have)\s+(?P<what>(?:the|this|that|those|these|my|our|your|all)\s+(?:[\p{L}-]+\s+){1,3}?)(?P<done>(?:\p{L}{2,}ed|swept|cut|done|sent|made|cleaned|built|seen|written|bought)\b)",
                "we need to ${get} ${what}${done}",
            ),
            rule(r"\bsee\s+(?:to\s+it\s+)?that\s+(?P<rest>(?:the|your|all|every|everything|everybody|everyone|my|our|he|she|they|(?-i:\p{Lu})\p{L}+)\b)", "make sure ${rest}"),
            // Requests in a roundabout way.
            rule(
                r"\b(?:i\s+)?(?:want(?:ed)?\s+to|wondered|was\s+going\s+to|(?:can|could|may)\s+i|just)\s+(?:quickly\s+)?ask\s+(?:you\s+)?(?:if|whether)\s+you\s+(?P<can>can|could|would|will)\s",
                "can you ",
            ),
            rule(r"\b(?:can|could|may)\s+i\s+(?:get|ask|trouble)\s+you\s+to\s+(?P<rest>\p{L})", "can you ${rest}"),
            rule(r"{LEAD}(?:perhaps|maybe)\s+you\s+(?:can|could|should|would)\s+(?P<rest>\p{L})", "${lead}can you ${rest}"),
            rule(
                r"{LEAD}do\s+(?P<rest>(?:write|send|call|ring|ask|tell|bring|let|check|take|give|keep|make|read|book|contact|report|return|sign|fill|buy|get)\s)",
                "${lead}please ${rest}",
            ),
            rule(r"{LEAD}would\s+you\s+be\s+(?:able|willing|so\s+kind\s+as)\s+to\s+(?P<rest>\p{L})", "${lead}can you ${rest}"),
            rule(
                r"\bthose\s+of\s+you\s+who\s+(?:haven't|have\s+not)\s+(?P<past>\p{L}+)\s+(?P<rest>[^,]+?)(?:\s+yet)?,\s+(?:please\s+)?(?:do\s+(?:so|it|that)|do)\b",
                "please {p} ${rest}",
            ),
            rule(
                r"\b(?:can|could|will|would)\s+you\s+(?:please\s+)?have\s+(?P<what>(?:an?|the|your|that)\s+(?:[\p{L}-]+\s+){1,3}?)(?:ready\s+)?(?P<rest>(?:by|before|for)\s)",
                "can you provide ${what}${rest}",
            ),
            // Headings of notes.
            rule(r"{LEAD}(?:reminder|follow[\s-]?up)\s*:\s*(?P<rest>(?:ask|call|send|check|book|buy|pay|ring|write|tell|chase|confirm|renew|order|bring|get|email)\s)", "${lead}please ${rest}"),
            rule(r"{LEAD}reminder\s*:\s*(?P<rest>(?:[\p{L}'-]+\s?){1,4})\W*$", "${lead}please see to the ${rest}"),
            rule(
                r"{LEAD}homework\s*(?:is\s+|:\s*)(?P<rest>(?:the\s+)?(?:exercises?|pages?|chapters?|questions?|numbers?|worksheets?)\b)",
                "${lead}please do ${rest}",
            ),
            rule(
                r"{LEAD}(?:shopping(?:\s+list)?|groceries|things\s+to\s+(?:buy|get)|to\s+buy|i\s+need\s+from\s+the\s+shops?)\s*[:,-]\s*(?P<rest>\p{L})",
                "${lead}please buy ${rest}",
            ),
            // "Bins tonight."
            rule(
                r"{LEAD}(?P<what>(?:the\s+)?(?:bins|rubbish|recycling|bin\s+bags|dishes|laundry|washing|washing[\s-]up|dishwasher|hoovering|ironing|shopping|homework))\s+(?P<rest>(?:tonight|today|tomorrow|this\s+(?:morning|afternoon|evening)|on\s+\p{L}+day|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b)",
                "${lead}we need to see to the ${what} ${rest}",
            ),
        ]
        .into_iter(),
    )
});

/// `clause` with a task that a noun says as a verb says it.
pub(super) fn plain(clause: &str) -> Cow<'_, str> {
    DUTIES.applied(clause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_that_says_a_task_becomes_a_verb() {
        for (said, put) in [
            ("The drinks are on me", "i'll take care of the drinks"),
            ("Lars is in charge of the music", "Lars will take care of the music"),
            ("I owe Carla an answer", "I need to give Carla an answer"),
            ("What's missing is the signature", "please get the signature"),
            ("It's time we changed the mattress", "we should change the mattress"),
            ("Lars was in charge of the music", "Lars was in charge of the music"),
            ("You don't owe me anything", "You don't owe me anything"),
        ] {
            assert_eq!(plain(said), put);
        }
    }
}
