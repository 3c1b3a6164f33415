//! What of a sentence is weighed: its words, pairs and triples, the same with each word of content by its kind, how it
//! begins, and how the sentences beside it begin.

use super::super::lexicon::{base_of_gerund, base_of_participle, is_person, is_stop_word, is_task_verb};
use super::super::text::{Sentence, stem};
use super::FEATURES;

/// A sentence as far as it is weighed.
pub(in crate::embedded) struct Read<'s> {
    speaker: Option<&'s str>,
    words: Vec<Word>,
    asks: bool,
}

struct Word {
    /// As it is weighed by itself: in lower case, numbers and days as one.
    text: String,
    stem: String,
    /// As it is weighed in its place: what carries content by its kind.
    kind: String,
}

/// Longer sentences are weighed up to here.
const LONGEST: usize = 60;

/// Reads `sentences`.
pub(in crate::embedded) fn read<'s>(sentences: &'s [Sentence<'_>]) -> Vec<Read<'s>> {
    let mut speakers: Vec<String> = Vec::new();
    for speaker in sentences.iter().filter_map(|sentence| sentence.speaker) {
        let name = speaker.to_lowercase();
        if speakers.len() < 40 && !speakers.contains(&name) {
            speakers.push(name);
        }
    }
    sentences
        .iter()
        .map(|sentence| Read {
            speaker: sentence.speaker,
            words: tokens(&sentence.text).take(LONGEST).map(|token| word(token, &speakers)).collect(),
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
    let same = |text: &str| Word { text: text.to_owned(), stem: text.to_owned(), kind: text.to_owned() };
    if lower.starts_with(|c: char| c.is_numeric()) {
        return same("#");
    }
    if DAYS.contains(&lower.as_str()) {
        return same("~day");
    }
    if MONTHS.contains(&lower.as_str()) {
        return same("~month");
    }
    if speakers.contains(&lower) {
        return same("~who");
    }
    let stem = stem(&lower);
    let kind = kind_of(&lower, token).unwrap_or(&lower).to_owned();
    Word { text: lower, stem, kind }
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
pub(in crate::embedded) fn of(sentences: &[Read<'_>], at: usize) -> Vec<usize> {
    let mut features = Features(Vec::with_capacity(200));
    let Some(sentence) = sentences.get(at) else { return features.0 };
    let words = &sentence.words;
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let kinds: Vec<&str> = words.iter().map(|word| word.kind.as_str()).collect();
    features.add("always", &[]);
    words.iter().for_each(|word| features.add("stem", &[&word.stem]));
    for (name, run) in [("w1", 1), ("w2", 2), ("w3", 3)] {
        texts.windows(run).for_each(|words| features.add(name, words));
    }
    for (name, run) in [("k2", 2), ("k3", 3), ("k4", 4)] {
        kinds.windows(run).for_each(|words| features.add(name, words));
    }
    texts.windows(3).for_each(|words| {
        if let [one, _, other] = words {
            features.add("skip", &[one, other]);
        }
    });
    for run in 1..=3 {
        features.add("first", texts.get(..run).unwrap_or(&texts));
        features.add("kinds", kinds.get(..run).unwrap_or(&kinds));
    }
    features.add("last", texts.last().map_or(&[], std::slice::from_ref));
    features.add("length", &[["0", "1", "2", "3", "4", "5"].get(words.len() / 4).unwrap_or(&"more")]);
    features.add(if sentence.asks { "asks" } else { "states" }, &[]);
    features.add(if sentence.speaker.is_some() { "spoken" } else { "written" }, &[]);
    let before = at.checked_sub(1).and_then(|before| sentences.get(before));
    features.beside("before", sentence, before);
    features.beside("after", sentence, sentences.get(at + 1));
    features.0
}

/// What `rule` reads in the sentence at `at`, with how that begins.
pub(in crate::embedded) fn of_rule(sentences: &[Read<'_>], at: usize, rule: &str) -> Vec<usize> {
    let mut features = Features(Vec::with_capacity(4));
    let Some(sentence) = sentences.get(at) else { return features.0 };
    let kinds: Vec<&str> = sentence.words.iter().take(2).map(|word| word.kind.as_str()).collect();
    features.add("rule", &[rule]);
    features.add("rule", &[rule, if sentence.asks { "asks" } else { "states" }]);
    features.add("rule", &[rule, kinds.first().unwrap_or(&"")]);
    features.add("rule", &[&[rule], kinds.as_slice()].concat());
    features.0
}

/// Features by their hashes.
struct Features(Vec<usize>);

impl Features {
    /// FNV-1a of the parts.
    fn add(&mut self, name: &str, parts: &[&str]) {
        let bytes = std::iter::once(name).chain(parts.iter().copied());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, part| {
            part.bytes()
                .chain(std::iter::once(0))
                .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        });
        self.0.push((hash ^ (hash >> 32)) as usize % FEATURES);
    }

    /// How the sentence beside it begins, and whether another says it.
    fn beside(&mut self, name: &str, sentence: &Read<'_>, beside: Option<&Read<'_>>) {
        let Some(beside) = beside else { return self.add(name, &["none"]) };
        let who = if beside.speaker == sentence.speaker { "same" } else { "other" };
        let texts: Vec<&str> = beside.words.iter().map(|word| word.text.as_str()).collect();
        for word in texts.iter().take(5) {
            self.add(name, &[who, word]);
        }
        self.add(name, &[who, "first", texts.first().unwrap_or(&"")]);
        self.add(name, &[&[who, "first"], texts.get(..2).unwrap_or(&texts)].concat());
        self.add(name, &[who, "length", ["0", "1", "2", "3"].get(texts.len() / 3).unwrap_or(&"more")]);
        self.add(name, &[who, if beside.asks { "asks" } else { "states" }]);
    }
}
