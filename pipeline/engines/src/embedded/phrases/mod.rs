//! Key phrases: runs of words that carry a topic, found after RAKE by how often their stems are said, and in English weighed by what
//! titles taught.

mod runs;
mod weighed;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet};

use runs::{is_topical, runs};
use words::{is_vague_noun, named, nouns, people};

#[cfg(test)]
pub(super) use weighed::features_of_all;

use super::language::Language;
use super::text::{Sentence, decapitalised};

/// A phrase as it was said, and its stems.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    /// The words, as they were first said.
    pub(super) text: String,
    /// Their stems.
    pub(super) stems: Vec<String>,
    /// How much is said of its words.
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

/// The weight of a person's name: it is seldom the topic.
const OF_PEOPLE: f64 = 0.4;
/// The weight of a speaker's name.
const OF_SPEAKERS: f64 = 0.1;

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

/// What is known of a talk before its phrases are looked for, each by stems.
pub(super) struct Known<'k> {
    /// How often each is said.
    pub(super) frequency: &'k HashMap<String, f64>,
    /// How much each counts.
    pub(super) weights: &'k HashMap<String, f64>,
    /// How much each is said of tasks and events.
    pub(super) next: &'k BTreeMap<String, f64>,
    pub(super) language: Language,
}

/// A phrase that may be a topic, with where it was said.
pub(super) struct Candidate {
    pub(super) phrase: Phrase,
    /// The place of its first sentence, and of how many.
    place: usize,
    sentences: usize,
    /// What stands before and behind it, in the first places.
    beside: Vec<[String; 2]>,
    is: Kind,
}

/// What a phrase is, as it was first said.
struct Kind {
    noun: bool,
    vague: bool,
    speaker: bool,
    person: bool,
    named: bool,
}

/// In how many places is looked at what stands beside a phrase.
const BESIDE: usize = 4;

/// Key phrases, the best first. Among phrases with equal scores the earlier one wins.
pub(super) fn key_phrases(sentences: &[Sentence<'_>], known: &Known<'_>, limit: usize) -> Vec<Phrase> {
    let candidates = candidates(sentences, known);
    if known.language.is_english() {
        return distinct(weighed::ranked(candidates, known).into_iter(), limit);
    }
    let mut kept = distinct(candidates.into_iter().map(|candidate| candidate.phrase), limit);
    // Two that say much need no third that says little.
    let strongest = kept.first().map_or(0.0, |phrase| phrase.score);
    if kept.len() > 2 && kept.last().is_some_and(|last| last.score < WEAK * strongest) {
        kept.pop();
    }
    kept
}

/// The phrases of a talk by their scores, the best first.
pub(super) fn candidates(sentences: &[Sentence<'_>], known: &Known<'_>) -> Vec<Candidate> {
    let language = known.language;
    let nouns = nouns(sentences, language);
    let people = people(sentences, language);
    let named = named(sentences);
    // "lou: ok", in a chat whose labels were not read as speakers.
    let labels = sentences.iter().filter_map(|said| said.text.split_once(": ")).map(|(label, _)| label);
    let labels =
        labels.filter(|label| !label.contains(' ') && label.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let speakers = sentences.iter().filter_map(|said| said.speaker);
    let speakers: HashSet<String> = speakers.chain(labels).map(str::to_lowercase).collect();
    let mut found: HashMap<Vec<String>, (usize, Candidate)> = HashMap::new();
    let mut order = 0;
    for (place, sentence) in sentences.iter().enumerate() {
        for run in runs(&sentence.text, language) {
            order += 1;
            let mut phrase = scored(&run, place, known.weights, language);
            let is = Kind {
                noun: phrase.stems.last().is_some_and(|stem| nouns.contains(stem)),
                vague: run.iter().all(|word| is_vague_noun(&word.to_lowercase())),
                speaker: run.iter().all(|word| speakers.contains(&word.to_lowercase())),
                person: run.iter().all(|word| people.contains(*word)),
                named: run.iter().any(|word| named.contains(*word)),
            };
            phrase.score *= is.counts(language);
            if language.is_english()
                && sentence.text.starts_with(&phrase.text)
                && !named.contains(run.first().copied().unwrap_or_default())
            {
                phrase.text = uncapitalised(&phrase.text, &people);
            }
            let score = phrase.score;
            let new = || Candidate {
                phrase: phrase.clone(),
                place,
                sentences: sentences.len(),
                beside: Vec::new(),
                is,
            };
            let (_, candidate) = found.entry(phrase.stems.clone()).or_insert_with(|| (order, new()));
            candidate.phrase.score = candidate.phrase.score.max(score) + 0.2;
            candidate.phrase.said += 1;
            if candidate.beside.len() < BESIDE {
                candidate.beside.push(beside(&sentence.text, &run.join(" ")));
            }
        }
    }
    let mut candidates: Vec<(usize, Candidate)> = found.into_values().collect();
    candidates.sort_by(|a, b| b.1.phrase.score.total_cmp(&a.1.phrase.score).then(a.0.cmp(&b.0)));
    candidates.into_iter().map(|(_, candidate)| candidate).collect()
}

impl Kind {
    /// How much of its score is left to a phrase that is no noun, or names what every talk has.
    fn counts(&self, language: Language) -> f64 {
        let noun = if self.noun || !language.is_english() { 1.0 } else { UNSHOWN };
        let vague = if self.vague { VAGUE } else { 1.0 };
        let people = match (self.speaker, self.person) {
            (true, _) => OF_SPEAKERS,
            (false, true) => OF_PEOPLE,
            (false, false) => 1.0,
        };
        noun * vague * people
    }
}

/// The words before and behind a phrase, in lower case; none at the ends of a sentence.
fn beside(sentence: &str, phrase: &str) -> [String; 2] {
    let bare = |word: Option<&str>| {
        word.unwrap_or_default().to_lowercase().replace(|c: char| !c.is_alphabetic() && c != '\'', "")
    };
    let (before, after) = sentence.split_once(phrase).unwrap_or_default();
    [bare(before.split_whitespace().next_back()), bare(after.split_whitespace().next())]
}

/// The phrases that share no stem with a better one.
pub(super) fn distinct(phrases: impl Iterator<Item = Phrase>, limit: usize) -> Vec<Phrase> {
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

/// A phrase with which a sentence began, as it is written within one.
fn uncapitalised(phrase: &str, people: &HashSet<String>) -> String {
    let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
    let shouted = first.chars().skip(1).any(char::is_uppercase);
    // "Mrs Okafor", "Northern Line".
    let name = people.contains(first) || rest.starts_with(char::is_uppercase);
    if shouted || name { phrase.to_owned() } else { decapitalised(phrase) }
}

/// Whether `word` may stand in a phrase of an English talk.
pub(super) fn names(word: &str) -> bool {
    is_topical(word, false, Language::English)
}
