//! Sentences cut where a new clause with a subject, or a new instruction, begins.

use std::sync::LazyLock;

use super::lexicon::task_verbs;
use super::pattern::Pattern;
use super::text::pattern;

/// A clause and the word that ties it to the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause<'a> {
    /// Its words.
    pub(super) text: &'a str,
    /// Joined to the clause before by "and", "or" or a comma alone: shares its subject.
    pub(super) coordinated: bool,
}

/// Verbs that are hardly ever nouns: they begin an instruction without a word that shows an object.
const PLAIN: &str = "buy|send|pay|fetch|collect|bring|renew|cancel|ring|phone|call|feed|write|ask|tell|remind|submit|return|clean|wash|fix|repair|finish|prepare|organise|organize|arrange|confirm|get|take|pick|send|reply|invite|cook|bake|drop";

static JOINT: LazyLock<Pattern> = LazyLock::new(|| {
    let verbs = task_verbs().collect::<Vec<_>>().join("|");
    let object = r"the|an?|my|your|our|his|her|their|this|that|these|those|some|all|if|whether|him|them|me|us|you|it|up|out|for|with|about|to|in|each|every|more|enough|another|both|any|two|three|four|five|six|seven|eight|nine|ten|\d+";
    pattern(&format!(
        r"(?x)
        (?P<joint> [,;:]\s+(?i:(?:and|but|so|then|plus|also|or|because|otherwise|now)\s+){{0,2}}
                 | \s[-–—]+\s
                 | \s(?i:and|but|so|then|because)\s+(?i:(?:then|also|so|that|maybe)\s+)? )
        (?P<open> (?i:i|we|you|he|she|they|it|somebody|someone|everybody|everyone|please|don't|make\ sure|remember|be\ sure|can|could|would|will|let's|let\ me|if|when|unless)\b
                | (?:\p{{Lu}}\p{{Ll}}+|my\ \p{{L}}+|somebody)\s(?:needs|has|should|will|must|promised|agreed|wants|expects)\b
                | (?i:the|my|our|your)\s\p{{L}}+(?:\s\p{{L}}+)?\s(?:needs?\s|has\s+to\b|have\s+to\b|must\b|should\b)
                | (?i:{verbs})\s(?:(?i:{object})\b|\p{{Lu}})
                | (?i:{PLAIN})\s\p{{L}} )"
    ))
});

/// The clauses of `sentence`, in order. Nothing but the joints is lost.
pub(super) fn split(sentence: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let (mut from, mut coordinated, mut search) = (0, false, 0);
    while let Some(found) = JOINT.captures_at(sentence, search) {
        let (Some(joint), Some(open)) = (found.name("joint"), found.name("open")) else { break };
        search = open.start();
        let Some(clause) = sentence.get(from..joint.start()) else { continue };
        if is_list_or_name(clause) {
            continue;
        }
        clauses.push(Clause { text: clause.trim(), coordinated });
        from = open.start();
        coordinated = is_coordination(joint.as_str());
    }
    clauses.push(Clause { text: sentence.get(from..).unwrap_or_default().trim(), coordinated });
    clauses
}

/// "Tom, can you" and "Sure, I'll" are one clause with what follows.
fn is_list_or_name(before: &str) -> bool {
    before.split_whitespace().count() < 2
}

fn is_coordination(joint: &str) -> bool {
    let word = joint.trim_matches([',', ' ', ';']).to_lowercase();
    word.is_empty() || word == "and" || word == "or"
}

static CONDITION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|well|ok|okay|what)\W+)*(?:if|when|unless|whenever|had|suppose|in case)\b",
    )
});

/// Whether a clause is a condition for the one that follows.
pub(super) fn is_condition(clause: &str) -> bool {
    CONDITION.is_match(clause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_where_somebody_new_acts() {
        let texts: Vec<&str> = split("I'll open a ticket and email you the number, so check it.")
            .iter()
            .map(|c| c.text)
            .collect();
        assert_eq!(texts, ["I'll open a ticket", "email you the number", "check it."]);
    }

    #[test]
    fn an_address_stays_with_what_is_asked() {
        assert_eq!(split("Tom, can you book the room?").len(), 1);
    }
}
