//! Key phrases, after RAKE: runs of words that carry a topic, by how often their stems are said.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::dates::number;
use super::language::Language;
use super::lexicon::{
    base_of_participle, ends_a_phrase, is_adjective, is_event_noun, is_narrative_verb, is_person,
    is_task_verb, is_vague_verb,
};
use super::pattern::Pattern;
use super::text::{Sentence, decapitalised, pattern};

/// A phrase as it was said, and its stems.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    /// The words, as they were first said.
    pub(super) text: String,
    /// Their stems.
    pub(super) stems: Vec<String>,
    score: f64,
    /// How often they were said.
    said: usize,
}

impl Phrase {
    /// Whether a talk is about this more than about all else, `other` being what it says next.
    pub(super) fn dominates(&self, other: &Self) -> bool {
        self.said > 2 && self.score > DOMINANT * other.score
    }
}

/// How much more the subject of a talk must count than what is said of it.
const DOMINANT: f64 = 1.4;

/// What a phrase counts whose last word never stands behind an article or the like, so that it may be no noun.
const UNSHOWN: f64 = 0.7;

/// The weight of a phrase that names a person, or something that every conversation has.
const VAGUE: f64 = 0.5;

/// Below this share of the best phrase's score the last one is left out.
const WEAK: f64 = 0.4;

/// The weight of the name of somebody who speaks, or is spoken to: it says who, and not what about.
const OF_PEOPLE: f64 = 0.4;
/// That of one who speaks is no topic of his own talk.
const OF_SPEAKERS: f64 = 0.1;

/// Where a name is that of a person: addressed, introduced, asked or quoted.
static PERSON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        ,\s+(?P<last>\p{Lu}\p{Ll}+)[.?!,]
        | ^(?P<first>\p{Lu}\p{Ll}+),\s
        | \b(?i:it's|this\ is|i'm|name's|name\ is|hi|hello|hey|dear|morning|afternoon|g'day|thanks|thank\ you|sorry|okay|ok|bye|cheers|mr\.?|mrs\.?|ms\.?|miss|mister|aunt|auntie|uncle|councillor|doctor|dr\.?)[,\s]\s*(?P<met>\p{Lu}\p{Ll}+)
        | \b(?i:ask|asked|tell|told|call|ring|text|email|phone|remind|thank|with|let|chase|warn|invite)\s+(?P<asked>\p{Lu}\p{Ll}+)
        | \b(?P<says>\p{Lu}\p{Ll}+)(?:'ll|'s\ (?:coming|going|gonna|bringing|doing)|\s(?:said|says|thinks|wants|wanted|told|asked|knows|went|came|will|reckons|can|could|should))\b",
    )
});

/// The names of the people of a talk.
fn people(sentences: &[Sentence<'_>], language: Language) -> HashSet<String> {
    let mut people = HashSet::new();
    if !language.is_english() {
        return people;
    }
    for sentence in sentences {
        for found in PERSON.captures_iter(&sentence.text) {
            let names =
                ["last", "first", "met", "asked", "says"].into_iter().filter_map(|group| found.name(group));
            people.extend(names.map(|name| name.as_str().to_owned()));
        }
        people.extend(sentence.speaker.map(str::to_owned));
    }
    people
}

fn is_vague_noun(word: &str) -> bool {
    is_person(word)
        || matches!(
            word,
            "action"
                | "next"
                | "team"
                | "item"
                | "items"
                | "page"
                | "pages"
                | "word"
                | "words"
                | "hand"
                | "hands"
                | "point"
                | "points"
                | "list"
                | "number"
                | "question"
                | "answer"
                | "name"
                | "part"
                | "piece"
                | "side"
                | "case"
                | "copy"
                | "place"
                | "idea"
                | "problem"
                | "reason"
                | "member"
                | "members"
                | "one"
                | "end"
                | "life"
                | "heart"
                | "head"
                | "eye"
                | "eyes"
                | "world"
                | "line"
                | "fun"
                | "luck"
                | "news"
                | "turn"
                | "meeting"
                | "deadline"
                | "call"
                | "bit"
                | "bits"
                | "lot"
                | "guys"
                | "level"
        )
}

/// The stems of words that are shown to be nouns: behind an article, a possessive or a number, with one word between at
/// most, or in the plural.
fn nouns(sentences: &[Sentence<'_>], language: Language) -> HashSet<String> {
    let mut found = HashSet::new();
    if !language.is_english() {
        return found;
    }
    for sentence in sentences {
        let words: Vec<String> = super::text::words(&sentence.text).collect();
        for (at, word) in words.iter().enumerate() {
            let before =
                |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map_or("", String::as_str);
            let shown = SHOWS_NOUN.contains(&before(1))
                || SHOWS_NOUN.contains(&before(2)) && is_topical(before(1), true, language);
            let plural =
                word.len() > 4 && word.ends_with('s') && !word.ends_with("ss") && !ends_a_phrase(word);
            if shown || plural {
                found.insert(language.stem(word));
            }
        }
    }
    found
}

const SHOWS_NOUN: &[&str] = &[
    "the", "a", "an", "my", "your", "our", "his", "her", "their", "this", "that", "these", "those", "some",
    "no", "any", "every", "each", "another", "two", "three", "four", "five", "six", "ten", "of", "more",
    "new",
];

/// The words that are written with a capital inside a sentence.
fn named<'t>(sentences: &'t [Sentence<'_>]) -> HashSet<&'t str> {
    let words = sentences.iter().flat_map(|sentence| sentence.text.split_whitespace().skip(1));
    let bare = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    bare.filter(|word| word.starts_with(char::is_uppercase)).collect()
}

/// A phrase with which a sentence began, as it is written within one.
fn uncapitalised(phrase: &str, people: &HashSet<String>) -> String {
    let first = phrase.split(' ').next().unwrap_or_default();
    let shouted = first.chars().skip(1).any(char::is_uppercase);
    if shouted || people.contains(first) { phrase.to_owned() } else { decapitalised(phrase) }
}

/// Whether `word` may stand in a phrase of an English talk.
pub(super) fn names(word: &str) -> bool {
    is_topical(word, false, Language::English)
}

/// Longer runs are cut.
const LONGEST: usize = 3;

/// Verbs of narration: they end with "ed" or "ing", or are inflected with an auxiliary's help.
static VERBAL: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\p{L}{3,}(?:ing|ed|n't)$"));

/// How often each stem that carries a topic is said.
pub(super) fn frequencies(sentences: &[Sentence<'_>], language: Language) -> HashMap<String, f64> {
    let mut count = HashMap::new();
    for sentence in sentences {
        for stem in language.content_stems(&sentence.text) {
            *count.entry(stem).or_insert(0.0) += 1.0;
        }
    }
    count
}

/// Key phrases, the best first. Among phrases with equal scores the earlier one wins.
/// `weights` says how much each stem counts.
pub(super) fn key_phrases(
    sentences: &[Sentence<'_>],
    weights: &HashMap<String, f64>,
    language: Language,
    limit: usize,
) -> Vec<Phrase> {
    let nouns = nouns(sentences, language);
    let people = people(sentences, language);
    let named = named(sentences);
    // "lou: ok", in a chat whose labels were not read as speakers.
    let labels = sentences.iter().filter_map(|said| said.text.split_once(": ")).map(|(label, _)| label);
    let labels =
        labels.filter(|label| !label.contains(' ') && label.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let speakers = sentences.iter().filter_map(|said| said.speaker);
    let speakers: HashSet<String> = speakers.chain(labels).map(str::to_lowercase).collect();
    let mut best: HashMap<Vec<String>, (usize, Phrase)> = HashMap::new();
    let mut order = 0;
    for (place, sentence) in sentences.iter().enumerate() {
        for run in runs(&sentence.text, language) {
            order += 1;
            let mut phrase = scored(&run, place, weights, language);
            let noun = phrase.stems.last().is_some_and(|stem| nouns.contains(stem));
            phrase.score *= if noun || !language.is_english() { 1.0 } else { UNSHOWN };
            phrase.score *=
                if run.iter().all(|word| is_vague_noun(&word.to_lowercase())) { VAGUE } else { 1.0 };
            phrase.score *= if run.iter().all(|word| speakers.contains(&word.to_lowercase())) {
                OF_SPEAKERS
            } else if run.iter().all(|word| people.contains(*word)) {
                OF_PEOPLE
            } else {
                1.0
            };
            if language.is_english()
                && sentence.text.starts_with(&phrase.text)
                && !named.contains(run.first().copied().unwrap_or_default())
            {
                phrase.text = uncapitalised(&phrase.text, &people);
            }
            let entry = best.entry(phrase.stems.clone()).or_insert_with(|| (order, phrase.clone()));
            entry.1.score = entry.1.score.max(phrase.score) + 0.2;
            entry.1.said += 1;
        }
    }
    let mut phrases: Vec<(usize, Phrase)> = best.into_values().collect();
    phrases.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    let mut kept = distinct(phrases.into_iter().map(|(_, phrase)| phrase), limit);
    // Two that say much need no third that says little.
    let strongest = kept.first().map_or(0.0, |phrase| phrase.score);
    if kept.len() > 2 && kept.last().is_some_and(|last| last.score < WEAK * strongest) {
        kept.pop();
    }
    kept
}

/// The phrases that share no stem with a better one.
fn distinct(phrases: impl Iterator<Item = Phrase>, limit: usize) -> Vec<Phrase> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for phrase in phrases {
        if kept.len() == limit {
            break;
        }
        if phrase.stems.iter().all(|stem| !seen.contains(stem)) {
            seen.extend(phrase.stems.iter().cloned());
            kept.push(phrase);
        }
    }
    kept
}

/// Sum of stem weights over the root of the length; names and the first sentences count more.
fn scored(run: &[&str], position: usize, weights: &HashMap<String, f64>, language: Language) -> Phrase {
    let stems: Vec<String> = run
        .iter()
        .map(|word| language.stem(word.rsplit('-').next().unwrap_or(word).to_lowercase().as_str()))
        .collect();
    let said: f64 = stems.iter().filter_map(|stem| weights.get(stem)).sum();
    let named = run.iter().any(|word| word.starts_with(char::is_uppercase));
    let early = if position < 3 { 1.2 } else { 1.0 };
    let score = said / (run.len() as f64).sqrt() * early * if named { 1.25 } else { 1.0 };
    Phrase { text: run.join(" "), stems, score, said: 0 }
}

/// Runs of at most [`LONGEST`] adjoining content words without verbs.
fn runs(sentence: &str, language: Language) -> Vec<Vec<&str>> {
    let mut runs = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut determined = false;
    let pieces: Vec<(usize, &str)> =
        pieces(sentence).into_iter().filter(|(_, piece)| *piece != " ").collect();
    for (place, (at, piece)) in pieces.iter().enumerate() {
        let next = pieces.get(place + 1).map_or("", |(_, next)| *next);
        let noun = || determined && language.is_english() && is_noun_in(&run, piece, next);
        if is_topical(piece, *at == 0, language) || noun() {
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
fn is_topical(piece: &str, first: bool, language: Language) -> bool {
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
