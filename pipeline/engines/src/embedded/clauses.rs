//! Sentences cut where a new clause with a subject, or a new instruction, begins.

use std::sync::LazyLock;

use super::lexicon::is_task_verb;
use super::pattern::Pattern;
use super::text::pattern;

/// A clause and the word that ties it to the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause<'a> {
    /// Its words.
    pub(super) text: &'a str,
    /// Joined to the clause before by "and", "or" or a comma alone: shares its subject.
    pub(super) coordinated: bool,
    /// Joined by a word, and not by a comma alone.
    pub(super) joined: bool,
}

/// Verbs that are hardly ever nouns: they begin an instruction without a word that shows an object.
const PLAIN: &str = "text|buy|send|pay|fetch|collect|bring|renew|cancel|ring|phone|call|feed|write|ask|tell|remind|submit|return|clean|wash|fix|repair|finish|prepare|organise|organize|arrange|confirm|get|take|pick|reply|invite|cook|bake|drop|email|e-mail|hoover|mow|chase|draft|book|print|pack|update|upload|download|install|remove|replace|cut|check|order";

static JOINT: LazyLock<Pattern> = LazyLock::new(|| {
    let object = r"the|an?|my|your|our|his|her|their|this|that|these|those|some|all|if|whether|him|them|me|us|you|it|up|out|down|off|back|away|round|along|for|with|about|to|in|each|every|more|enough|another|both|any|two|three|four|five|six|seven|eight|nine|ten|\d+";
    pattern(&format!(
        r"(?x)
        (?P<joint> [,;:]\s+(?i:(?:and|but|so|then|plus|also|or\s+else|or|because|otherwise|now|just|kindly|simply)\s+){{0,2}}
                 | \s[-–—]+\s
                 | \s(?i:and|but|so|then|because)\s+(?i:(?:then|also|so|that|maybe|uh|um|just)\s+)? )
        (?P<open> (?i:i|we|you|he|she|they|it|somebody|someone|everybody|everyone|please|don't|make\ sure|remember|be\ sure|can|could|would|will|let's|let\ me|if|when|unless)\b
                | \p{{Lu}}\p{{Ll}}+,\s(?:(?:can|could|will|would|please|you)\b|(?P<addressed>\p{{L}}[\p{{L}}-]*)\s(?:{object})\b)
                | (?:\p{{Lu}}\p{{Ll}}+|my\ \p{{L}}+|somebody)\s(?:needs|has|should|will|must|promised|agreed|wants|expects)\b
                | (?i:the|my|our|your)\s\p{{L}}+(?:\s\p{{L}}+)?\s(?:needs?\s|has\s+to\b|have\s+to\b|must\b|should\b)
                | (?i:the|my|our|your)\s(?:[\p{{L}}\d,'-]+\s){{1,6}}?(?:is|are)\s(?:due|on|at)\b
                | (?i:give|keep|leave|put|make|have|do)\s(?i:{object})\b
                | (?i:{PLAIN})\s\p{{L}}
                | \p{{Lu}}\p{{Ll}}+\sto\s(?P<assigned>\p{{Ll}}+)\b
                | (?P<verb>\p{{L}}[\p{{L}}-]*)\s(?:(?i:{object})\b|\p{{Lu}}) )"
    ))
});

/// The clauses of `sentence`, in order. Nothing but the joints is lost.
pub(super) fn split(sentence: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let (mut from, mut coordinated, mut joined, mut search) = (0, false, false, 0);
    if let Some(opener) = OPENER.captures(sentence).and_then(|found| found.name("opener")) {
        clauses.push(Clause { text: opener.as_str().trim(), coordinated, joined });
        from = opener.end() + 1;
        search = from;
    }
    while let Some(found) = JOINT.captures_at(sentence, search) {
        let (Some(joint), Some(open)) = (found.name("joint"), found.name("open")) else { break };
        search = open.start();
        // Looked up here: a pattern of all verbs takes long to compile.
        let verb = found.name("verb").or_else(|| found.name("addressed")).or_else(|| found.name("assigned"));
        if verb.is_some_and(|verb| !is_task_verb(&verb.as_str().to_lowercase())) {
            continue;
        }
        let Some(clause) = sentence.get(from..joint.start()) else { continue };
        if is_list_or_name(clause) {
            continue;
        }
        clauses.push(Clause { text: clause.trim(), coordinated, joined });
        from = open.start();
        let word = joint.as_str().trim_matches([',', ' ', ';']).to_lowercase();
        joined = word.starts_with("and") || word == "or";
        coordinated = joined || word.is_empty();
    }
    clauses.push(Clause { text: sentence.get(from..).unwrap_or_default().trim(), coordinated, joined });
    clauses
}

/// "Tom, can you" and "Sure, I'll" are one clause with what follows.
fn is_list_or_name(before: &str) -> bool {
    before.split_whitespace().count() < 2
}

/// "For next Thursday, read chapter nine": whatever follows the comma is a clause of its own.
static OPENER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<opener>\W*(?:(?:and|but|so|ok|okay|well|then)\W+)*(?:for|on|by|before|after|until|over|during|next|this|tomorrow|today|tonight|first)(?:\s+[\p{L}\d:'-]+){0,4})[,:]\s",
    )
});

static CONDITION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|well|ok|okay|what)\W+)*(?:if|when|unless|whenever|had|suppose|in case|each time|every time|next time|as soon as|once)\b",
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
