//! The runs of words of a sentence that may be a topic: no number, no verb, a noun at the end.

use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::super::dates::number;
use super::super::language::Language;
use super::super::lexicon::{
    base_of_participle, ends_a_phrase, is_adjective, is_event_noun, is_narrative_verb, is_person,
    is_task_verb, is_vague_verb,
};
use super::super::pattern::Pattern;
use super::super::text::pattern;

/// Longer runs are cut.
const LONGEST: usize = 3;

/// Verbs of narration: they end with "ed" or "ing", or are inflected with an auxiliary's help.
static VERBAL: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\p{L}{3,}(?:ing|ed|n't)$"));

/// What stands before a noun.
pub(super) const SHOWS_NOUN: &[&str] = &[
    "the", "a", "an", "my", "your", "our", "his", "her", "their", "this", "that", "these", "those", "some",
    "no", "any", "every", "each", "another", "two", "three", "four", "five", "six", "ten", "of", "more",
    "new",
];

/// Runs of at most [`LONGEST`] adjoining content words without verbs.
pub(super) fn runs(sentence: &str, language: Language) -> Vec<Vec<&str>> {
    let mut runs = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut determined = false;
    let pieces: Vec<(usize, &str)> =
        pieces(sentence).into_iter().filter(|(_, piece)| *piece != " ").collect();
    for (place, (at, piece)) in pieces.iter().enumerate() {
        let next = pieces.get(place + 1).map_or("", |(_, next)| *next);
        let noun = || determined && language.is_english() && is_noun_in(&run, piece, next);
        // "Boxing Day" is a date.
        let dated = *piece == "Boxing" && next == "Day";
        if !dated && (is_topical(piece, *at == 0, language) || noun()) {
            run.push(piece);
        } else {
            determined = SHOWS_NOUN.contains(&piece.to_lowercase().as_str());
            runs.extend(close(&mut run));
        }
    }
    runs.extend(close(&mut run));
    runs
}

/// Whether a verb is a noun behind the words of `run`, which have an article: "the flaky test is", "the seed order."
fn is_noun_in(run: &[&str], piece: &str, next: &str) -> bool {
    let singular = run.last().is_some_and(|last| !last.ends_with('s'));
    let ends = !next.starts_with(char::is_alphanumeric)
        || [
            "of", "for", "in", "on", "at", "with", "by", "from", "and", "or", "is", "was", "has", "isn't",
            "wasn't", "that",
        ]
        .contains(&next);
    singular && ends && is_task_verb(piece)
}

/// Words and what stands between them; words with a hyphen are one.
fn pieces(sentence: &str) -> Vec<(usize, &str)> {
    let mut pieces: Vec<(usize, &str)> = Vec::new();
    let letters = |piece: &str| piece.chars().all(char::is_alphabetic);
    for (at, piece) in sentence.split_word_bound_indices() {
        let hyphen = pieces.last().is_some_and(|(_, last)| *last == "-");
        let before = pieces
            .len()
            .checked_sub(2)
            .and_then(|place| pieces.get(place))
            .filter(|(_, before)| letters(before));
        match before {
            Some((start, _)) if hyphen && letters(piece) => {
                let start = *start;
                pieces.truncate(pieces.len() - 2);
                pieces.push((start, sentence.get(start..at + piece.len()).unwrap_or(piece)));
            }
            _ => pieces.push((at, piece)),
        }
    }
    pieces
}

/// The third person of a verb of doing.
fn is_done(word: &str) -> bool {
    word.strip_suffix('s')
        .is_some_and(|base| is_task_verb(base) || matches!(base, "work" | "live" | "like" | "play"))
}

/// What no phrase ends with: adjectives, and titles without the name.
fn names_nothing(word: &str) -> bool {
    is_adjective(word)
        || matches!(
            word,
            "mr" | "mrs" | "ms" | "miss" | "dr" | "worn" | "torn" | "stuck" | "gone" | "sober" | "flaky"
        )
}

/// Of a long run, its last words: the noun of an English noun phrase stands last.
fn close<'t>(run: &mut Vec<&'t str>) -> Option<Vec<&'t str>> {
    let mut run = std::mem::take(run);
    // "My partner works nights": what one does.
    let acts = run
        .windows(2)
        .position(|two| matches!(two, [who, act] if is_person(&who.to_lowercase()) && is_done(act)));
    run.truncate(acts.map_or(run.len(), |at| at + 1));
    while run.last().is_some_and(|last| names_nothing(&last.to_lowercase())) {
        run.pop();
    }
    if run.first().is_some_and(|first| first.eq_ignore_ascii_case("dear")) {
        run.remove(0);
    }
    let from = run.len().saturating_sub(LONGEST);
    // "The lettering's lovely" is about the lettering.
    if let Some(last) = run.last_mut() {
        *last = last.strip_suffix("'s").unwrap_or(last);
    }
    (!run.is_empty()).then(|| run.split_off(from))
}

/// "Fourth", "Thursdays": when, and not what.
fn is_day(word: &str) -> bool {
    let ordinal =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
            .contains(&word)
            || word.ends_with("teenth")
            || word.ends_with("tieth");
    ordinal
        || word
            .strip_suffix('s')
            .is_some_and(|day| day.ends_with("day") && day.len() > 5 && day != "holiday" && day != "birthday")
}

/// What is counted or measured says no topic.
const UNITS: &[&str] = &[
    "mil", "mils", "kilo", "kilos", "gram", "grams", "metre", "metres", "meter", "meters", "mile", "miles",
    "quid", "pound", "pounds", "euro", "euros", "dollar", "dollars", "rupee", "rupees", "bucks", "pence",
    "cent", "percent", "degree", "degrees", "hour", "hours", "minute", "minutes", "second", "seconds", "hrs",
    "mins", "litre", "litres", "inch", "thurs", "tues", "weds", "mon", "fri", "inches", "dozen", "hundred",
    "thousand", "million", "til", "tmrw", "btw", "lol",
];

/// Whether a word may stand in a phrase: no number, no verb, and in German a noun.
pub(super) fn is_topical(piece: &str, first: bool, language: Language) -> bool {
    let lower = piece.to_lowercase();
    let word = piece.starts_with(char::is_alphabetic) && lower.chars().count() > 2 && !is_day(&lower);
    if !word || !language.is_content(&lower) {
        return false;
    }
    // "What've we got?"
    if language.is_english() && ["'ve", "'re", "'ll", "'d"].iter().any(|ending| lower.ends_with(ending)) {
        return false;
    }
    let capital = piece.starts_with(char::is_uppercase);
    if !language.is_english() {
        return capital || !language.capitalises_nouns();
    }
    let verb = VERBAL.is_match(&lower) && !is_event_noun(&lower)
        || is_task_verb(&lower)
        || is_vague_verb(&lower)
        || is_narrative_verb(&lower)
        || ends_a_phrase(&lower)
        || lower.len() > 3 && base_of_participle(&lower).is_some() && !is_event_noun(&lower)
        || UNITS.contains(&lower.as_str())
        || number(&lower).is_some();
    (capital && !first) || !verb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_has_a_noun_for_its_head() {
        for (said, phrases) in [
            ("The flaky test is still flaky", vec!["flaky test"]),
            ("Who does the seed order?", vec!["seed order"]),
            ("My partner works nights", vec!["partner"]),
            ("The children report to the office", vec!["children", "office"]),
            ("The chain's worn", vec!["chain"]),
            ("What've we got?", vec![]),
        ] {
            let found: Vec<String> = runs(said, Language::English).iter().map(|run| run.join(" ")).collect();
            assert_eq!(found, phrases, "{said}");
        }
    }
}
