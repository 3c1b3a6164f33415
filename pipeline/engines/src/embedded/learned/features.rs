//! What of a sentence is weighed: its words and pairs, the same with each word of content by its kind, what other words
//! are like them, how it begins, and how the sentences beside it begin.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::hashing::fnv1a;
use super::super::lexicon::{base_of_gerund, base_of_participle, is_person, is_stop_word, is_task_verb};
use super::super::text::{Sentence, stem};

/// Words that are used alike: a line for each group, and an empty line between families of groups.
static ALIKE: &str = include_str!("../../../model/alike.txt");

/// The group and the family of each word.
static GROUPS: LazyLock<HashMap<&str, [u64; 2]>> = LazyLock::new(|| {
    let mut groups = HashMap::new();
    for (family, lines) in (0..).zip(ALIKE.split("\n\n")) {
        for line in lines.lines() {
            let group = hash(line);
            groups.extend(line.split(' ').map(|word| (word, [group, family])));
        }
    }
    groups
});

/// The group and the family of a word in lower case.
pub(in crate::embedded) fn alike(word: &str) -> Option<[u64; 2]> {
    GROUPS.get(word).copied()
}

/// What is weighed of a sentence: the hash of it stands for it.
pub(in crate::embedded) type Feature = u64;

/// A sentence as far as it is weighed.
pub(in crate::embedded) struct Read<'t> {
    speaker: Option<&'t str>,
    words: Vec<Word>,
    asks: bool,
}

impl Read<'_> {
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }
}

/// A word by its hashes.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// As it is weighed by itself: in lower case, numbers and days as one.
    text: u64,
    pub(super) stem: u64,
    /// As it is weighed in its place: what carries content by its kind.
    kind: u64,
    /// Its group and family, of a common word.
    pub(super) alike: Option<[u64; 2]>,
}

/// Longer sentences are weighed up to here.
const LONGEST: usize = 60;

/// Names of more speakers are words like others.
const SPEAKERS: usize = 40;

/// Reads `sentences`.
pub(in crate::embedded) fn read<'t>(sentences: &[Sentence<'t>]) -> Vec<Read<'t>> {
    let mut speakers: Vec<String> = Vec::new();
    for speaker in sentences.iter().filter_map(|sentence| sentence.speaker) {
        let name = speaker.to_lowercase();
        if speakers.len() < SPEAKERS && !speakers.contains(&name) {
            speakers.push(name);
        }
    }
    let mut known: HashMap<&str, Word> = HashMap::new();
    let mut read_word = |token| *known.entry(token).or_insert_with(|| word(token, &speakers));
    sentences
        .iter()
        .map(|sentence| Read {
            speaker: sentence.speaker,
            words: tokens(&sentence.text).take(LONGEST).map(&mut read_word).collect(),
            asks: sentence.text.ends_with('?'),
        })
        .collect()
}

/// Words with their apostrophes, numbers, and the marks that ask or call.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '?' | '!' | ':'));
        let first = rest.chars().next()?;
        let end = if first.is_numeric() {
            rest.find(|c: char| !c.is_numeric())
        } else if first.is_alphabetic() {
            rest.char_indices()
                .find(|(at, c)| {
                    let inner = *c == '\''
                        && rest.get(at + 1..).is_some_and(|after| after.starts_with(char::is_alphabetic));
                    !c.is_alphabetic() && !inner
                })
                .map(|(at, _)| at)
        } else {
            Some(first.len_utf8())
        };
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(token)
    })
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS: [&str; 11] = [
    "january",
    "february",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "sept",
];

fn word(token: &str, speakers: &[String]) -> Word {
    let lower = token.to_lowercase();
    let class = match lower.as_str() {
        number if number.starts_with(|c: char| c.is_numeric()) => Some("#"),
        day if DAYS.contains(&day) => Some("~day"),
        month if MONTHS.contains(&month) => Some("~month"),
        _ => speakers.contains(&lower).then_some("~who"),
    };
    let same = class.map(hash).map(|hash| Word { text: hash, stem: hash, kind: hash, alike: None });
    same.unwrap_or_else(|| Word {
        text: hash(&lower),
        stem: hash(&stem(&lower)),
        kind: hash(kind_of(&lower, token).unwrap_or(&lower)),
        alike: alike(&lower),
    })
}

/// The kind of a word that carries content; `None` of a word that does not, which is its own.
fn kind_of(lower: &str, token: &str) -> Option<&'static str> {
    if is_task_verb(lower) {
        return Some("~do");
    }
    if lower.len() < 3 || is_stop_word(lower) || lower.contains('\'') {
        return None;
    }
    if is_person(lower) {
        return Some("~kin");
    }
    if lower.ends_with("ing") && base_of_gerund(lower).is_some_and(|base| is_task_verb(&base)) {
        return Some("~doing");
    }
    if base_of_participle(lower).is_some_and(is_task_verb) {
        return Some("~done");
    }
    Some(if lower.ends_with("ing") {
        "~ing"
    } else if lower.ends_with("ed") {
        "~ed"
    } else if lower.ends_with("ly") {
        "~ly"
    } else if token.starts_with(char::is_uppercase) {
        "~Name"
    } else if lower.ends_with('s') {
        "~s"
    } else {
        "~x"
    })
}

/// The features of the sentence at `at`.
pub(in crate::embedded) fn of(sentences: &[Read<'_>], at: usize) -> Vec<Feature> {
    let Some(sentence) = sentences.get(at) else { return Vec::new() };
    let mut features = Features(Vec::with_capacity(8 * sentence.words.len() + 40));
    let texts: Vec<u64> = sentence.words.iter().map(|word| word.text).collect();
    let kinds: Vec<u64> = sentence.words.iter().map(|word| word.kind).collect();
    features.add("always", &[]);
    for word in &sentence.words {
        features.add("word", &[word.text]);
        features.add("stem", &[word.stem]);
        if let Some([group, family]) = word.alike {
            features.add("group", &[group]);
            features.add("family", &[family]);
        }
    }
    texts.windows(2).for_each(|words| features.add("pair", words));
    kinds.windows(2).for_each(|words| features.add("pair of kinds", words));
    texts.windows(3).for_each(|words| {
        if let [one, _, other] = words {
            features.add("skip", &[*one, *other]);
        }
    });
    for run in 1..=3 {
        features.add("first", texts.get(..run).unwrap_or(&texts));
        features.add("kinds", kinds.get(..run).unwrap_or(&kinds));
    }
    features.add("last", texts.last().map_or(&[], std::slice::from_ref));
    features.add("length", &[(sentence.words.len() / 4).min(6) as u64]);
    features.add(if sentence.asks { "asks" } else { "states" }, &[]);
    features.add(if sentence.speaker.is_some() { "spoken" } else { "written" }, &[]);
    let before = at.checked_sub(1).and_then(|before| sentences.get(before));
    features.beside("before", sentence, before);
    features.beside("after", sentence, sentences.get(at + 1));
    features.0
}

/// What `rule` reads in the sentence at `at`, with how that begins.
pub(in crate::embedded) fn of_rule(sentences: &[Read<'_>], at: usize, rule: &str) -> Vec<Feature> {
    let mut features = Features(Vec::with_capacity(4));
    let Some(sentence) = sentences.get(at) else { return features.0 };
    let kinds: Vec<u64> = sentence.words.iter().take(2).map(|word| word.kind).collect();
    let rule = hash(rule);
    features.add("rule", &[rule]);
    features.add("rule", &[rule, hash(if sentence.asks { "asks" } else { "states" })]);
    features.add("rule", &[&[rule], kinds.get(..1).unwrap_or_default()].concat());
    features.add("rule", &[&[rule], kinds.as_slice()].concat());
    features.0
}

pub(in crate::embedded) fn hash(text: &str) -> u64 {
    fnv1a(text.bytes())
}

/// Features by their hashes.
#[derive(Default)]
pub(in crate::embedded) struct Features(pub(in crate::embedded) Vec<Feature>);

impl Features {
    /// Adds what `name` says of `parts`.
    pub(in crate::embedded) fn add(&mut self, name: &str, parts: &[u64]) {
        let mixed = parts.iter().fold(hash(name), |mixed, part| {
            (mixed.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        self.0.push(mixed);
    }

    /// How the sentence beside it begins, and whether another says it.
    fn beside(&mut self, name: &str, sentence: &Read<'_>, beside: Option<&Read<'_>>) {
        let Some(beside) = beside else { return self.add(name, &[]) };
        let who = hash(if beside.speaker == sentence.speaker { "same" } else { "other" });
        let texts: Vec<u64> = beside.words.iter().map(|word| word.text).collect();
        for word in texts.iter().take(5) {
            self.add(name, &[who, *word]);
        }
        let first = [who, hash("first")];
        self.add(name, &[&first, texts.get(..1).unwrap_or_default()].concat());
        self.add(name, &[&first, texts.get(..2).unwrap_or(&texts)].concat());
        self.add(name, &[who, hash("length"), (texts.len() / 3).min(4) as u64]);
        self.add(name, &[who, hash(if beside.asks { "asks" } else { "states" })]);
    }
}
