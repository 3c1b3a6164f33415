//! What people say of themselves and of others that is worth remembering.

use std::sync::LazyLock;

use records::MemoryCategory;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// How a pattern's words are told of the person: the words of the pattern, in the third person.
pub(super) struct Rule {
    /// What is said; `k` and `v` are words to keep, `r` is the rest.
    pub(super) said: Pattern,
    /// `{r}` is the rest that was said.
    pub(super) told: &'static str,
    /// What it is about.
    pub(super) category: MemoryCategory,
    /// The higher, the more telling.
    pub(super) score: u8,
}

const ADVERBS: &str =
    r"(?:also\s+|still\s+|really\s+|actually\s+|currently\s+|just\s+|both\s+|already\s+|only\s+)*";

/// What people say of themselves, in the first person.
pub(super) static OWN: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    use MemoryCategory::{Core, Habits, Hobbies, Interests, Learnings, Lifestyle, Skills, Work};
    let rule = |said: &str, told, category, score| Rule {
        said: pattern(&format!(r"(?i)\b{said}\s+{ADVERBS}(?P<r>.+)$").replace("{ADV}", ADVERBS)),
        told,
        category,
        score,
    };
    vec![
        rule(r"i(?:'m|\s+am)\s+{ADV}(?P<k>allergic|intolerant)", "{n} is {k} {r}", Core, 10),
        rule(
            r"i(?:'ve|\s+have)\s+(?:got\s+)?(?P<k>an?\s+(?:\w+\s+)?(?:allergy|intolerance))",
            "{n} has {k} {r}",
            Core,
            9,
        ),
        rule(r"i\s+{ADV}live", "{n} lives {r}", Core, 8),
        rule(r"i(?:'ve|\s+have)?\s+(?:just\s+)?moved\s+to", "{n} moved to {r}", Core, 8),
        rule(r"i\s+was\s+born", "{n} was born {r}", Core, 8),
        rule(r"i(?:'m|\s+am)\s+(?P<k>married|engaged|divorced|originally)", "{n} is {k} {r}", Core, 7),
        rule(r"my\s+birthday\s+is", "{n}'s birthday is {r}", Core, 8),
        rule(
            r"my\s+(?P<k>(?:\w+\s+)?(?:wife|husband|partner|sister|brother|mother|mom|mum|father|dad|son|daughter|girlfriend|boyfriend|dog|cat|boss|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|friend)(?:\s+\p{Lu}\p{Ll}+)?\s+(?:lives|works|is\s+called|is\s+allergic|is\s+an?|studies|was\s+born|plays|loves|moved))",
            "{n}'s {k} {r}",
            Core,
            7,
        ),
        rule(
            r"i\s+{ADV}work\s+(?P<k>at|for|as|in|from|(?:night|early|late|day)\s+shifts?|nights|shifts|weekends|part[\s-]time|full[\s-]time|remotely|freelance)",
            "{n} works {k} {r}",
            Work,
            8,
        ),
        rule(r"i(?:'m|\s+am)\s+(?P<k>studying|majoring\s+in|training\s+to)", "{n} is {k} {r}", Learnings, 8),
        rule(r"i(?:'m|\s+am|'ve\s+been|\s+have\s+been)\s+{ADV}learning", "{n} is learning {r}", Learnings, 8),
        rule(r"i\s+{ADV}speak", "{n} speaks {r}", Skills, 7),
        rule(r"i\s+(?:know\s+how\s+to)", "{n} knows how to {r}", Skills, 6),
        rule(r"my\s+favou?rite", "{n}'s favourite {r}", Interests, 8),
        rule(r"i\s+{ADV}prefer", "{n} prefers {r}", Interests, 7),
        rule(
            r"i\s+{ADV}(?:love|adore)\s+(?P<k>playing|reading|cooking|hiking|running|painting|swimming|cycling|travelling|traveling|gardening|singing|dancing|watching|baking)",
            "{n} loves {k} {r}",
            Hobbies,
            6,
        ),
        rule(
            r"i\s+{ADV}(?:don't|do\s+not|never)\s+(?P<k>eat|drink|smoke|drive|fly)",
            "{n} doesn't {k} {r}",
            Lifestyle,
            7,
        ),
        rule(
            r"i\s+(?:(?P<k>always|usually)\s+)(?P<v>get|wake|go|run|walk|cook|read|swim|drink|eat|have|take|start|work|sleep)",
            "{n} {k} {v}s {r}",
            Habits,
            5,
        ),
    ]
});

/// Facts without a rest, and habits whose verb stands before "every".
pub(super) static DIET: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)\bi(?:'m|\s+am)\s+{ADVERBS}(?P<r>(?:a\s+)?(?:vegetarian|vegan|pescatarian|teetotal|left-handed|coeliac|celiac|diabetic|lactose\s+intolerant|colou?r[\s-]?blind|retired|an\s+only\s+child))\b"
    ))
});
/// Lasting conditions; that somebody has a cold is nothing to remember.
pub(super) static CONDITION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bi(?:'ve|\s+have)\s+(?:got\s+)?(?P<r>(?:\w+\s+)?(?:diabetes|asthma|epilepsy|migraines?|arthritis|eczema|hay\s+fever|high\s+blood\s+pressure|dyslexia|adhd|an?\s+pacemaker))\b",
    )
});
pub(super) static PROFESSION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bi(?:'m|\s+am)\s+(?P<r>an?\s+(?:\w+\s+)?(?:teacher|nurse|doctor|engineer|developer|designer|lawyer|student|translator|architect|accountant|writer|musician|chef|manager|scientist|pharmacist|plumber|electrician|carpenter|journalist|photographer|pilot|dentist|programmer|consultant|researcher|librarian|farmer|firefighter|paramedic|therapist))\b",
    )
});
pub(super) static EVERY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bi\s+(?:usually\s+|always\s+)?(?P<v>\p{L}+)\s+(?P<r>(?:[\p{L}'-]+\s+){0,6}?every\s+(?:single\s+)?(?:morning|evening|night|day|week|weekend|month|summer|winter|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b(?:\s+(?:before|after|at|in)\s+\p{L}+)?)",
    )
});
/// What is said of others, by name.
pub(super) static OTHERS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?P<n>\p{Lu}\p{Ll}+)\s+(?P<r>(?:is\s+(?:allergic|vegetarian|vegan|a\s+vegetarian|a\s+vegan|engaged|married|left-handed)|prefers|lives|works\s+(?:at|for|as|in|from)|speaks|loves|hates|plays|studies|doesn't\s+(?:eat|drink)|moved\s+to|has\s+(?:asthma|diabetes))\b.*)$",
    )
});
/// "She speaks Spanish": of the last name before it in the same sentence.
pub(super) static PRONOUN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^.*\b(?P<n>\p{Lu}\p{Ll}+)\b[^.?!]*?\b(?:he|she)(?:'s|\s+is)?\s+(?P<r>(?:allergic\s+to|prefers|lives|works\s+(?:at|for|as|in|from)|speaks|plays|studies|moved\s+to|doesn't\s+(?:eat|drink))\b.*)$",
    )
});
pub(super) static DOUBT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:if|would|wish|maybe|might|used\s+to|could|pretend|imagine|not\s+sure|i\s+think\s+i)\b")
});
pub(super) static TAIL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:,\s+(?:so|and|but|i|we|he|she|they|you|which|because|right|by|too)\b|\s+(?:so|because|but|although|though|by\s+the\s+way|and\s+(?:i|he|she|we|they|it|you|never|will)|if|when)\b|[;?!]|\s+-\s).*$",
    )
});
pub(super) static FOR_NOW: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\s+(?:for\s+(?:about\s+)?(?:\w+\s+){1,2}(?:weeks?|months?|years?)|right\s+now|now|these\s+days|at\s+the\s+moment|too|as\s+well|anyway|btw|by\s+the\s+way|lol)\b(?:\s+now)?",
    )
});
pub(super) static FIRST_PERSON: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:my|me|myself|i'm|i|mine)\b"));
