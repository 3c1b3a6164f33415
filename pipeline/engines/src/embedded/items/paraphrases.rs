//! Ways in which people put a task, and the plain way that the rules read: "it wouldn't hurt to ring them" is "you
//! should ring them".

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Captures;

use crate::embedded::lexicon::{base_of_gerund, base_of_past};
use crate::embedded::pattern::{Pattern, Patterns};
use crate::embedded::text::{decapitalised, pattern};

/// Ways to put a task, and what each is replaced by: `{g}` is the verb of a gerund, `{p}` that of a past tense.
pub(super) struct Paraphrases {
    said: Patterns,
    plain: Vec<&'static str>,
}

impl Paraphrases {
    pub(super) fn of(rules: impl Iterator<Item = (String, &'static str)>) -> Self {
        let (said, plain): (Vec<String>, Vec<&str>) = rules.unzip();
        Self { said: Patterns::new(&said), plain }
    }

    /// `clause` with what is said put in the plain way.
    pub(super) fn applied<'t>(&self, clause: &'t str) -> Cow<'t, str> {
        let mut plain = Cow::Borrowed(clause);
        for (at, said) in self.said.matching(clause) {
            let (Some(found), Some(to)) = (said.captures(&plain), self.plain.get(at)) else { continue };
            if let Some(put) = replaced(&plain, &found, to) {
                plain = Cow::Owned(put);
            }
        }
        plain
    }
}

static PARAPHRASES: LazyLock<Paraphrases> = LazyLock::new(|| {
    let rule = |said: &str, plain: &'static str| (format!(r"(?i)\b{said}"), plain);
    Paraphrases::of([
        rule(
            r"it\s+(?:wouldn't|won't|can't|couldn't|doesn't)\s+hurt\s+to\s+(?P<rest>\p{L})",
            "you should ${rest}",
        ),
        rule(
            r"(?:it(?:'d|\s+would|\s+might|\s+may|'ll|\s+will|'s|\s+is)\s+(?:probably\s+|also\s+)?(?:be\s+)?|might\s+be\s+|probably\s+|^)(?:an\s+idea|a\s+good\s+idea|wise|sensible|advisable|necessary|better|best|worthwhile|as\s+well|required)\s+(?:for\s+you\s+)?to\s+(?P<rest>\p{L})",
            "you should ${rest}",
        ),
        rule(
            r"(?:it(?:'d|\s+would|\s+might|\s+may|'s|\s+is)\s+(?:probably\s+)?(?:be\s+)?|might\s+be\s+|you're\s+|you\s+are\s+|you(?:'d|\s+would)\s+be\s+)(?:well\s+)?(?:worth|best|better|best\s+off|better\s+off|wise)\s+(?P<gerund>\p{L}{2,}ing)\s",
            "you should {g} ",
        ),
        rule(
            r"you(?:'d|\s+would)\s+(?:be\s+(?:best|wise|well\s+advised)|do\s+best|do\s+better)\s+to\s+(?P<rest>\p{L})",
            "you should ${rest}",
        ),
        rule(r"(?:better|best)\s+(?:that\s+)?you\s+(?P<rest>\p{L})", "you should ${rest}"),
        rule(r"if\s+i\s+(?:was|were)\s+you,?\s+i(?:'d|\s+would)\s+(?P<rest>\p{L})", "you should ${rest}"),
        rule(
            r"(?:i|we)(?:\s+would|'d)?\s+(?:kindly\s+)?request\s+(?:you|everyone|all)\s+to\s+(?P<rest>\p{L})",
            "please ${rest}",
        ),
        rule(
            r"(?:i|we)(?:\s+would|'d|\s+must|\s+have\s+to)?\s+(?:also\s+)?(?:like\s+to\s+)?ask\s+you\s+to\s+(?P<rest>\p{L})",
            "please ${rest}",
        ),
        rule(
            r"(?P<who>i|we)(?:\s+should|\s+will|'ll|\s+ought\s+to)\s+be\s+(?:done|finished|through)\s+with\s+(?P<rest>\p{L})",
            "${who}'ll finish ${rest}",
        ),
        rule(
            r"you\s+are\s+(?:kindly\s+)?(?:requested|asked|required|obliged)\s+to\s+(?P<rest>\p{L})",
            "please ${rest}",
        ),
        rule(
            r"whoever(?:'s|\s+is)?\s+(?:\p{L}+\s+){1,5}?(?:should|must|has\s+to|needs\s+to|can)\s+(?P<rest>\p{L})",
            "somebody should ${rest}",
        ),
        rule(
            r"i(?:'ve\s+been|\s+have\s+been|\s+was|'ve\s+just\s+been)\s+(?:told|asked|instructed|reminded)\s+to\s+(?P<rest>\p{L})",
            "i'm supposed to ${rest}",
        ),
        rule(
            r"^(?P<lead>(?:\W*(?:and|but|so|oh|well)\W+)?(?:he|she|they|mum|mom|dad|(?:the|my|our)\s+\p{L}+)\s+(?:also\s+)?)(?:says|said|is\s+saying|was\s+saying)\s+to\s+(?P<rest>\p{L})",
            "i'm supposed to ${rest}",
        ),
        rule(
            r"^(?P<lead>\W*(?:(?:and|so|but)\W+)?)(?:i|we)(?:'ve|\s+have)\s+(?:already\s+|just\s+)?asked\s+(?P<who>(?-i:\p{Lu}\p{Ll}+))\s+to\s+(?P<rest>\p{L})",
            "${who} to ${rest}",
        ),
        rule(
            r"i(?:'d|\s+would)?\s+(?:recommend|suggest|advise)\s+(?P<gerund>\p{L}{2,}ing)\s",
            "you should {g} ",
        ),
        rule(
            r"it(?:'s|\s+is|'d\s+be|\s+would\s+be)\s+(?:very\s+|really\s+|so\s+)?(?:important|vital|essential|crucial)\s+(?:that\s+(?:you|we|they)|for\s+(?:you|us)\s+to|to)\s+(?P<rest>\p{L})",
            "you should ${rest}",
        ),
        rule(
            r"(?P<who>you|we|i)(?:'ve\s+got|\s+have|\s+have\s+got)\s+(?:until|till)\s+(?P<date>(?:[\p{L}\d]+\s+){1,6}?)to\s+(?P<rest>\p{L}+\s.*)$",
            "${who} have to ${rest} by ${date}",
        ),
        rule(
            r"i(?:'d|\s+would)\s+(?:really\s+)?(?:appreciate\s+it|be\s+(?:so\s+|very\s+)?(?:grateful|happy|glad)|love\s+it)\s+if\s+you\s+(?P<past>\p{L}+)\s",
            "please {p} ",
        ),
        rule(r"(?P<lead>^|\b(?:you\s+(?:should|could|can)|to|please|and|then|so)\s+)try\s+(?P<gerund>\p{L}{3,}ing)\s", "${lead}{g} "),
        rule(
            r"i(?:'m|\s+am)\s+(?:in\s+charge\s+of|responsible\s+for|looking\s+after)\s+(?P<what>the\s+\p{L})",
            "i'll take care of ${what}",
        ),
        rule(
            r"(?P<lead>^|\b(?:and|so|but)\s+)(?:the\s+)?deadline\s+(?:for|to)\s+(?P<what>(?:the|your|our|this|my)\s+(?:[\p{L}-]+\s+){1,3}?)is\s+(?P<rest>.+)$",
            "${lead}you have to hand in ${what}by ${rest}",
        ),
        rule(
            r"(?:weren't|aren't)\s+you\s+(?:going|supposed|meant)\s+to\s+(?P<rest>\p{L})",
            "did you ${rest}",
        ),
        rule(
            r"^(?P<lead>\W*(?:(?:and|so|but)\W+)?)you\s+couldn't\s+(?:possibly\s+)?(?P<rest>\p{L}.*\?)$",
            "can you ${rest}",
        ),
        rule(
            r"(?:all\s+)?(?:that's|that\s+is|what's)\s+left\s+(?:now\s+)?(?:to\s+do\s+)?is\s+to\s+(?P<rest>\p{L})",
            "we need to ${rest}",
        ),
        rule(
            r"(?:the|your|our|my)\s+(?:next|last|only|other|first|main|one)\s+(?:step|thing|job|bit|task)(?:\s+(?:left|now|for\s+(?:you|us|me)|we\s+need\s+to\s+do|to\s+do|remaining))*(?:\s+is|'s)\s+to\s+(?P<rest>\p{L})",
            "we need to ${rest}",
        ),
        rule(r"my\s+plan\s+is\s+to\s+(?P<rest>\p{L})", "i plan to ${rest}"),
        rule(r"what\s+i(?:'ll|\s+will|'m\s+going\s+to)\s+do\s+is,?\s+(?:i'll\s+)?(?P<rest>\p{L})", "i'll ${rest}"),
        rule(r"what\s+i(?:'d)?\s+(?:need|want|like)\s+you\s+to\s+do\s+is,?\s+(?:to\s+)?(?P<rest>\p{L})", "please ${rest}"),
        rule(r"make\s+a\s+note\s+to\s+(?P<rest>\p{L})", "please ${rest}"),
        rule(
            r"(?:next|first|last)\s+(?:step|thing)\s+is\s+for\s+(?P<who>(?-i:\p{Lu}\p{Ll}+))\s+to\s+(?P<rest>\p{L})",
            "${who} to ${rest}",
        ),
        rule(
            r"(?:your|the|our)\s+homework\s+(?P<lead>(?:for|by)\s+(?:\p{L}+\s+){1,3}?)?is\s+(?:to\s+do\s+)?(?P<rest>(?:the\s+)?(?:exercises?|pages?|chapters?|questions?|numbers?|worksheets?)\b)",
            "${lead}please do ${rest}",
        ),
        rule(
            r"leave\s+(?P<what>(?:the|that|all\s+the|my|your)\s+(?:\p{L}+\s+){1,3}?)(?:to|with)\s+me\b",
            "i'll take care of ${what}",
        ),
        rule(
            r"action\s+(?:on|for|item\s+for)\s+(?P<who>(?-i:\p{Lu}\p{Ll}+))\s*[:,-]\s*(?:to\s+)?(?P<rest>\p{L})",
            "${who} to ${rest}",
        ),
        rule(r"don't\s+let\s+(?:me|us|him|her|them)\s+forget\s+(?P<rest>\p{L})", "don't forget ${rest}"),
        rule(
            r"^(?P<lead>\W*(?:(?:and|oh|also|so|then)\W+)*(?:please\s+)?)remember\s+(?:about\s+)?(?P<rest>(?:the|your|my|our)\s+\p{L})",
            "${lead}don't forget ${rest}",
        ),
        rule(
            r"(?:(?:it'd|it\s+would|that'd|that\s+would)\s+(?:really\s+|also\s+)?(?:help\s+(?:me\s+|us\s+)?(?:a\s+lot\s+)?|be\s+\p{L}+\s+)|would\s+it\s+be\s+\p{L}+\s+|would\s+you\s+mind\s+(?:it\s+)?)if\s+you\s+(?P<past>\p{L}+)\s",
            "please {p} ",
        ),
        rule(
            r"(?:(?:would|could)\s+you\s+)?be\s+(?:so\s+(?:kind|good)\s+as|(?:kind|good)\s+enough)\s+to\s+(?P<rest>\p{L})",
            "please ${rest}",
        ),
        rule(
            r"that\s+(?:just\s+|only\s+)?leaves\s+(?P<what>(?:the|my|our|your)\s+[\p{L}'-]+(?:\s[\p{L}'-]+)?)",
            "there's ${what} to do",
        ),
        rule(
            r"(?P<what>(?:the|that)\s+[\p{L}'-]+(?:\s[\p{L}'-]+)?)(?:\s+is|'s|'re|\s+are)\s+(?:down|up)\s+to\s+me\b",
            "i'll take care of ${what}",
        ),
        rule(
            r"(?P<what>(?:the|that)\s+[\p{L}'-]+(?:\s[\p{L}'-]+)?)(?:\s+is|'s|'re|\s+are)\s+(?:down|up)\s+to\s+(?P<who>(?-i:\p{Lu}\p{Ll}+))\b",
            "${who} will take care of ${what}",
        ),
        rule(
            r"(?P<who>you're|you\s+are)\s+(?:still\s+)?(?:in\s+charge\s+of|responsible\s+for|looking\s+after)\s+(?P<what>the\s+\p{L})",
            "you have to take care of ${what}",
        ),
        rule(
            r"(?:the|our|my)\s+(?:goal|aim|target|plan|idea|hope)\s+is\s+to\s+(?P<rest>(?:have|get|finish|send|ship|complete|deliver|submit)\b)",
            "let's ${rest}",
        ),
        rule(
            r"we(?:'re\s+(?:aiming|hoping|planning|trying|looking)|\s+(?:want|aim|hope|plan))\s+to\s+(?P<rest>(?:have|get|finish|send|ship|complete|deliver|submit)\b)",
            "let's ${rest}",
        ),
        rule(
            r"(?:can|could)\s+(?:we|i)\s+(?:please\s+)?(?P<rest>(?:get|have)\s+(?:the|my|our|this|that|these|those|someone|somebody)\s+(?:[\p{L}'-]+\s+){0,3}?(?:\p{L}{2,}ed|done|cut|sent|seen|made|to\s+\p{L}+)\b)",
            "please ${rest}",
        ),
        rule(r"is\s+it\s+possible\s+to\s+(?:have|get)\s+(?P<rest>\p{L})", "can i get ${rest}"),
        rule(r"is\s+it\s+possible\s+(?:for\s+you\s+)?to\s+(?P<rest>\p{L})", "can you ${rest}"),
        rule(r"chance\s+of\s+(?:getting|having)\s+(?P<rest>\p{L})", "chance can i get ${rest}"),
        rule(r"chance\s+of\s+(?:you\s+|your\s+)?(?P<gerund>\p{L}{2,}ing)\s", "chance you could {g} "),
        rule(
            r"(?P<who>i|we|you)\s+(?:still\s+)?owe\s+(?P<rest>\p{L}+\s+(?:[£$€\d]|an?\s+(?:tenner|fiver|pound|dollar)|[\p{L}-]+\s+(?:quid|pounds|dollars|euros|rupees|bucks)))",
            "${who} need to pay ${rest}",
        ),
        rule(
            r"^(?P<lead>\W*(?:(?:and|so|well|then|also|okay|ok|right|honestly|personally|no|yes)\W+)*)i(?:'d|\s+would)\s+(?:probably\s+|just\s+|certainly\s+|definitely\s+|maybe\s+)?(?P<rest>(?:carry\s+on\s+with|keep|get|put|take|ask|check|avoid|book|call|ring|use|bring|write|wait\s+with|leave|have|see|try)\s+(?:the|a|an|some|your|that|it|them|this|him|her|another|both|those|these|(?-i:\p{Lu})\p{L}+)\b)",
            "you should ${rest}",
        ),
        rule(
            r"^(?P<lead>\W*(?:(?:and|so|well|then|okay|ok)\W+)*(?:today|tomorrow|this\s+(?:morning|afternoon|week)|next|for\s+today))\W+(?:i'm|i\s+am|i'll\s+be)\s+(?:working\s+)?on\s+(?P<rest>(?:the|my|our)\s+\p{L})",
            "${lead} i'll work on ${rest}",
        ),
        rule(r"i\s+(?:might|may)\s+as\s+well\s+(?P<rest>\p{L})", "i'll ${rest}"),
        rule(r"you\s+wanna\s+(?P<rest>\p{L})", "you want to ${rest}"),
        rule(
            r"(?P<who>i|we)(?:'m|'re|\s+am|\s+are)\s+(?:needing|wanting)\s+(?P<rest>\p{L})",
            "${who} need ${rest}",
        ),
        // "The letter to the nephew I'll dictate separately."
        rule(
            r"^(?P<lead>\W*(?:(?:and|so|then|but|okay|ok|right|yes)\W+)*)(?P<what>(?:the|my|your|our|those|these)(?:\s+[\p{L}'-]+){1,7}?)\s+(?P<who>i'll|i\s+will|we'll|you'll\s+have\s+to|you\s+have\s+to|you\s+need\s+to|you\s+must|i\s+have\s+to|i\s+must)\s+(?P<verb>(?:dictate|upload|send|write|post|bring|book|order|buy|pay|print|sign|fetch|collect|return|fix|repair|clean|wash|email|mail|deliver|check|finish|cancel|renew|make|do))(?P<rest>\s*$|\s*[,.]|\s+(?:separately|today|tomorrow|tonight|on|by|before|at|in|myself|later|now|first|this|next)\b)",
            "${lead}${who} ${verb} ${what}${rest}",
        ),
        rule(r"let's\s+each\s+(?P<rest>\p{L})", "let's ${rest}"),
        rule(r"^(?P<lead>\W*(?:(?:and|so|then|please)\W+)*)come\s+and\s+(?P<rest>(?:get|collect|fetch)\s)", "${lead}please ${rest}"),
        // "I'm travelling there on Wednesday to release the pump myself."
        rule(
            r"i'm\s+(?:going|travelling|traveling|driving|popping|heading|coming)\s+(?:there|over|down|up|round|in|out|back|to\s+[\p{L}'-]+)(?:\s+[\p{L}'-]+){0,3}?\s+to\s+(?P<rest>(?:release|collect|get|pick|fetch|sign|fix|check|measure|buy|return|drop|sort|finish|help)\s)",
            "i'll ${rest}",
        ),
        rule(r"would\s+you\s+ever\s+(?P<rest>\p{L})", "would you ${rest}"),
        rule(
            r"(?P<lead>can|could)\s+(?:i|we)\s+ask\s+(?:that\s+)?(?:you|everyone)\s+(?:please\s+)?(?:to\s+)?(?P<rest>\p{L})",
            "${lead} you ${rest}",
        ),
    ]
    .into_iter())
});

/// `clause` in the way that the rules read.
pub(super) fn plain(clause: &str) -> Cow<'_, str> {
    PARAPHRASES.applied(clause)
}

/// What begins a sentence and is no name.
static ARTICLE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"^(?:The|My|Our|Your|His|Her|Their|This|That|Those|These|All)\s"));

/// `text` with what was `found` put as `to`; `None` where a form belongs to no verb.
fn replaced(text: &str, found: &Captures<'_>, to: &str) -> Option<String> {
    let whole = found.get(0)?;
    let mut put = String::new();
    found.expand(to, &mut put);
    if let Some(what) = found.name("what").map(|what| what.as_str()).filter(|what| ARTICLE.is_match(what)) {
        put = put.replacen(what, &decapitalised(what), 1);
    }
    if let Some(gerund) = found.name("gerund") {
        put = put.replace("{g}", &base_of_gerund(&gerund.as_str().to_lowercase())?);
    }
    if let Some(past) = found.name("past") {
        put = put.replace("{p}", base_of_past(&past.as_str().to_lowercase())?);
    }
    Some(format!("{}{put}{}", text.get(..whole.start())?, text.get(whole.end()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_put_in_the_plain_way() {
        for (said, put) in [
            ("It wouldn't hurt to remind him", "you should remind him"),
            ("it'd be worth checking the warranty", "you should check the warranty"),
            ("I've been told to come back", "i'm supposed to come back"),
            ("Action on Priya: circulate the slides", "Priya to circulate the slides"),
            ("Whoever finishes first should lock up", "somebody should lock up"),
            (
                "The letter to the nephew I'll dictate separately",
                "I'll dictate the letter to the nephew separately",
            ),
            ("Let's each pay twenty", "let's pay twenty"),
            ("so come and get it", "so please get it"),
            ("She may come and get it", "She may come and get it"),
            ("It hurts to remember", "It hurts to remember"),
        ] {
            assert_eq!(plain(said), put);
        }
    }
}
