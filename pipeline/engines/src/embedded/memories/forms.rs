//! What forms ask for, and what an answer says of another than the one who gives it.

use std::sync::LazyLock;

use records::MemoryCategory;

use super::rules::BEING;
use crate::embedded::dates::number;
use crate::embedded::lexicon::is_person;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// What an answer says of the one who gives it.
pub(super) enum Answer {
    /// A sentence of theirs, in the first person.
    Sentence(String),
    /// A fact; `{n}` is the person.
    Fact(String, MemoryCategory, u8),
}

/// Where a question begins within its sentence.
pub(super) const START: &str =
    r"(?:^|[,.;:-]\s+|\b(?:and|so|but|then|okay|ok|right|now|well|oh|also|actually|great|good|fine)\s+)";
pub(super) const STILL: &str =
    r"(?:(?:still|also|ever|actually|really|normally|currently|already|happen\s+to)\s+)*";
/// What ends a question and asks nothing more.
pub(super) const END: &str = r"(?:\s+(?:at\s+all|at\s+the\s+moment|these\s+days|then|now|exactly|by\s+the\s+way|if\s+i\s+may\s+ask|yourself))*\s*\?*\s*$";

pub(super) static AGE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}how\s+old\s+(?:are\s+(?P<you>you)|(?:is|are)\s+your\s+(?P<who>\p{{L}}+)){END}"
    ))
});
/// "Is Maya still vegetarian? - Yes.", "how old is your daughter? - She's six.": what an answer says of another.
pub(super) fn of_another(question: &str, answer: &str, yes: bool) -> Option<Answer> {
    let called =
        |who: &str| who.strip_prefix("your ").map_or_else(|| who.to_owned(), |kin| format!("{{n}}'s {kin}"));
    if let Some(found) = IS_ANOTHER.captures(question).filter(|_| yes) {
        let text = format!("{} {} {}", called(&found["who"]), found["is"].to_lowercase(), &found["what"]);
        return Some(Answer::Fact(text, MemoryCategory::Other, 6));
    }
    let who = AGE.captures(question).and_then(|found| Some(found.name("who")?.as_str().to_owned()))?;
    let years = AGED.captures(answer).and_then(|found| number(&found["years"].to_lowercase()))?;
    let text = format!("{{n}}'s {who} is {years} years old");
    is_person(&who.to_lowercase()).then_some(Answer::Fact(text, MemoryCategory::Core, 7))
}

static IS_ANOTHER: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::large(&format!(
        r"{START}(?P<is>[Ii]s|[Aa]re)\s+(?P<who>your\s+\p{{Ll}}+|\p{{Lu}}\p{{Ll}}+)\s+{STILL}(?P<what>{BEING}){END}"
    ))
});

static AGED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:he's|she's|(?:he|she)\s+is|they're|just|almost|turned)\s+(?P<years>[\p{L}\d-]+)\s*(?:[.,!]|now\b|years|$)",
    )
});

/// What forms ask for: "What's your date of birth?", "Nationality?".
pub(super) static FORM: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?:{START}what(?:'s|\s+is|\s+was)\s+your\s+|^\W*(?:(?:and|then|ok|okay|next)\W+)*(?:your\s+)?)(?P<what>(?:current\s+|home\s+|full\s+)?(?:address|nationality|occupation|profession|postcode|zip\s+code|surname|maiden\s+name|mother\s+tongue|first\s+language|native\s+language|height|weight|blood\s+(?:type|group)|marital\s+status|religion|employer|shoe\s+size|health\s+insurance|insurance|emergency\s+contact|date\s+of\s+birth)){END}"
    ))
});

/// "Any health problems?", "any operations?".
pub(super) static HEALTH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)\bany\s+(?:other\s+|known\s+|serious\s+|previous\s+|past\s+|chronic\s+|medical\s+)*(?:(?:health\s+)?(?:problems|conditions|issues|illnesses|diseases)(?:\s+(?:i|we)\s+should\s+know\s+(?:about|of))?|(?P<had>operations|surgery|surgeries|injuries)){END}"
    ))
});

/// "Are you married? - Divorced."
pub(super) static STATE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:no|not\s+any\s+more|well)\W+)*(?:divorced|widowed|engaged|separated|retired|vegan|vegetarian|pescatarian|self-employed|unemployed|coeliac|diabetic|left-handed)$",
    )
});
