//! Which language a talk is in, and which of its words carry a topic there.
//!
//! The rules for tasks, events and memories know English alone. Other languages are read by their words: stop
//! words and stems give a title, an overview and, for some, a category.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use records::{Category, Talk};
use rust_stemmers::{Algorithm, Stemmer};

use super::lexicon::{LANGUAGES, TIMES};
use super::text::{self, words};

/// A language as the engine reads it.
#[derive(Clone, Copy)]
pub(super) enum Language {
    /// Read by every rule.
    English,
    /// Read by its words.
    Listed(&'static Listed),
    /// Read by the length of its words.
    Unknown,
}

/// What is known of a language that is not English.
pub(super) struct Listed {
    code: &'static str,
    stop: HashSet<&'static str>,
    stemmer: Stemmer,
    topics: HashMap<String, Vec<Category>>,
}

/// Talk with fewer words says too little of its language.
const FEWEST_WORDS: usize = 12;
/// A talk that claims to be English is looked at this far.
const READ_WORDS: usize = 400;
/// Of the words of a talk, stop words are about half in the right language.
const STOP_SHARE: f64 = 0.3;
/// How many times more stop words than English another language must show.
const CLEARLY: f64 = 1.6;
/// In an unknown language, shorter words are taken to be articles and the like.
const LONG_WORD: usize = 5;

static LISTED: LazyLock<Vec<Listed>> = LazyLock::new(|| {
    LANGUAGES.iter().map(|(code, algorithm, topics)| Listed::new(code, *algorithm, topics)).collect()
});

impl Listed {
    fn new(code: &'static str, algorithm: Algorithm, topics: &[(Category, &str)]) -> Self {
        let stemmer = Stemmer::create(algorithm);
        let mut index: HashMap<String, Vec<Category>> = HashMap::new();
        for (category, words) in topics {
            for word in words.split_whitespace() {
                let of = index.entry(stemmer.stem(word).into_owned()).or_default();
                if !of.contains(category) {
                    of.push(*category);
                }
            }
        }
        let stop = stop_words::lookup(code).unwrap_or_default();
        let stop = stop.iter().copied().chain(TIMES.split_whitespace()).collect();
        Self { code, stop, stemmer, topics: index }
    }
}

impl Language {
    /// The language of `talk`: what it says of itself, unless it says nothing or English and its words are
    /// clearly of another, or another and its words are clearly English. Clients that know no better send `en`, or
    /// the language of the telephone.
    pub(super) fn of(talk: &Talk) -> Self {
        let said = talk.language.to_ascii_lowercase();
        let code = said.split(['-', '_']).next().unwrap_or_default();
        match code {
            "" | "en" | "auto" | "multi" => by_words(talk).map_or(Self::English, Self::Listed),
            "nb" | "nn" => listed("no"),
            _ => match listed(code) {
                Self::Listed(of) if is_english(talk, of) => Self::English,
                known => known,
            },
        }
    }

    /// Whether every rule applies.
    pub(super) fn is_english(self) -> bool {
        matches!(self, Self::English)
    }

    /// Whether a word (lower case) carries a topic.
    pub(super) fn is_content(self, word: &str) -> bool {
        let long = |least: usize| word.chars().count() >= least;
        match self {
            Self::English => text::is_content(word),
            Self::Listed(of) => long(3) && !of.stop.contains(word),
            Self::Unknown => long(LONG_WORD),
        }
    }

    /// The stem of a word in lower case.
    pub(super) fn stem(self, word: &str) -> String {
        match self {
            Self::English => text::stem(word),
            Self::Listed(of) => text::stemmed(&of.stemmer, word),
            Self::Unknown => word.to_owned(),
        }
    }

    /// The stems of the words that carry a topic, with repetitions.
    pub(super) fn content_stems(self, text: &str) -> Vec<String> {
        words(text).filter(|word| self.is_content(word)).map(|word| self.stem(&word)).collect()
    }

    /// The categories that a stem speaks for, in a language other than English.
    pub(super) fn topics_of(self, stem: &str) -> &'static [Category] {
        match self {
            Self::Listed(of) => of.topics.get(stem).map_or(&[], Vec::as_slice),
            Self::English | Self::Unknown => &[],
        }
    }

    /// The language's code (ISO 639-1), where it is known.
    pub(super) fn code(self) -> Option<&'static str> {
        match self {
            Self::English => Some("en"),
            Self::Listed(of) => Some(of.code),
            Self::Unknown => None,
        }
    }

    /// Whether nouns are written with a capital.
    pub(super) fn capitalises_nouns(self) -> bool {
        matches!(self, Self::Listed(Listed { code: "de", .. }))
    }
}

fn listed(code: &str) -> Language {
    LISTED.iter().find(|of| of.code == code).map_or(Language::Unknown, Language::Listed)
}

/// The language whose stop words a talk is full of, and English is not.
fn by_words(talk: &Talk) -> Option<&'static Listed> {
    let said = first_words(talk);
    let count = |of: &Listed| share(&said, |word| of.stop.contains(word));
    let (best, found) =
        LISTED.iter().map(|of| (of, count(of))).max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    is_clear(found, share(&said, text::is_stop)).then_some(best)
}

/// Whether a talk that claims to be in `of` is English.
fn is_english(talk: &Talk, of: &Listed) -> bool {
    let said = first_words(talk);
    is_clear(share(&said, text::is_stop), share(&said, |word| of.stop.contains(word)))
}

/// The first words of a talk, none when they are too few to tell.
fn first_words(talk: &Talk) -> Vec<String> {
    let all = talk.lines.iter().flat_map(|line| words(&line.text));
    let said: Vec<String> = all.take(READ_WORDS).collect();
    if said.len() < FEWEST_WORDS { Vec::new() } else { said }
}

/// Which part of the words are stop words; of none, nothing.
fn share(said: &[String], is_stop: impl Fn(&str) -> bool) -> f64 {
    let stops = said.iter().filter(|word| is_stop(word)).count();
    if said.is_empty() { 0.0 } else { stops as f64 / said.len() as f64 }
}

fn is_clear(of_one: f64, of_other: f64) -> bool {
    of_one >= STOP_SHARE && of_one > CLEARLY * of_other
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    fn code(text: &str, said: &str) -> &'static str {
        let mut talk = talk(text);
        talk.language = said.to_owned();
        match Language::of(&talk) {
            Language::English => "en",
            Language::Listed(of) => of.code,
            Language::Unknown => "?",
        }
    }

    #[test]
    fn a_talk_is_in_the_language_it_names() {
        for (said, expected) in
            [("de-DE", "de"), ("pt_BR", "pt"), ("nb", "no"), ("xx", "?"), ("en-GB", "en"), ("", "en")]
        {
            assert_eq!(code("Hello there", said), expected, "{said}");
        }
    }

    #[test]
    fn words_of_another_language_overrule_a_default_of_english() {
        for (text, expected) in [
            ("Wir haben gestern mit dem Vermieter gesprochen und er will die Miete nicht mehr erhöhen", "de"),
            ("Ayer hablé con el casero y me dijo que no va a subir el alquiler este año porque", "es"),
            (
                "Hier nous avons parlé avec le propriétaire et il ne veut pas augmenter le loyer cette année",
                "fr",
            ),
            ("Yesterday we spoke with the landlord and he does not want to raise the rent this year", "en"),
            ("so um i die the server died in the war room and man was that an also ran", "en"),
            ("budget forecast latency server rack cooling fans noise quote vendor invoice order parts", "en"),
        ] {
            assert_eq!(code(text, "en"), expected, "{text}");
        }
    }

    #[test]
    fn english_is_read_as_english_whatever_it_claims_to_be() {
        let text = "I will call the landlord on Monday and then we can talk about what he said to you";
        assert_eq!(code(text, "de"), "en");
        let text = "Ich rufe am Montag den Vermieter an und dann reden wir darüber was er gesagt hat";
        assert_eq!(code(text, "de"), "de");
    }

    #[test]
    fn every_listed_language_has_stop_words() {
        for of in LISTED.iter() {
            assert!(of.stop.len() > 50, "{}", of.code);
        }
    }
}
