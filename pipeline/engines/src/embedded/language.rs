//! Which language a talk is in, and which of its words carry a topic there.
//!
//! The rules for tasks, events and memories know English alone. Other languages are read by their words: stop
//! words and stems give a title, an overview and, for some, a category. Scripts without spaces are read by pairs of
//! characters.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use records::{Category, Talk, is_unspaced};
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
    /// Chinese, Japanese, Thai and the like: read by pairs of characters.
    Unspaced,
}

/// What most words of a talk are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Unspaced,
    Other,
}

/// What is known of a language that is not English.
pub(super) struct Listed {
    code: &'static str,
    stop: HashSet<&'static str>,
    stemmer: Option<Stemmer>,
    topics: HashMap<String, Vec<Category>>,
}

/// Talk with fewer words says too little of its language.
const FEWEST_WORDS: usize = 12;
/// A talk that claims to be English is looked at this far.
const READ_WORDS: usize = 400;
/// The language of a script is told by so many characters.
const READ_LETTERS: usize = 2_000;
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
    fn new(code: &'static str, algorithm: Option<Algorithm>, topics: &[(Category, &str)]) -> Self {
        let stemmer = algorithm.map(Stemmer::create);
        let mut index: HashMap<String, Vec<Category>> = HashMap::new();
        for (category, words) in topics {
            for word in words.split_whitespace() {
                let of = index.entry(stem_of(stemmer.as_ref(), word)).or_default();
                if !of.contains(category) {
                    of.push(*category);
                }
            }
        }
        let stop = stop_words::lookup(code).unwrap_or_default();
        let stop = stop.iter().copied().chain(TIMES.split_whitespace()).collect();
        Self { code, stop, stemmer, topics: index }
    }

    fn is_latin(&self) -> bool {
        !matches!(self.code, "ar" | "el" | "he" | "hi" | "ru" | "uk")
    }
}

fn stem_of(stemmer: Option<&Stemmer>, word: &str) -> String {
    stemmer.map_or_else(|| word.to_owned(), |stemmer| text::stemmed(stemmer, word))
}

impl Language {
    /// The language of `talk`: what it says of itself, unless it says nothing or English and its words are
    /// clearly of another, or another and its words are clearly English, or of another script. Clients that know no
    /// better send `en`, or the language of the telephone.
    pub(super) fn of(talk: &Talk) -> Self {
        let (code, script) = (code(talk), Script::of(talk));
        let latin = script == Script::Latin;
        match code.as_str() {
            _ if script == Script::Unspaced => Self::Unspaced,
            "" | "en" | "auto" | "multi" => {
                by_words(talk).map_or(if latin { Self::English } else { Self::Unknown }, Self::Listed)
            }
            code => match listed(code) {
                Self::Listed(of) if is_english(talk, &of.stop) => Self::English,
                Self::Listed(of) if of.is_latin() != latin => {
                    by_words(talk).map_or(Self::Unknown, Self::Listed)
                }
                Self::Unknown if is_english(talk, &HashSet::new()) => Self::English,
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
            // A syllable of Korean is written as one letter.
            Self::Unknown => {
                long(LONG_WORD) || long(3) && word.chars().all(|c| matches!(c, '\u{ac00}'..='\u{d7a3}'))
            }
            Self::Unspaced => false,
        }
    }

    /// The stem of a word in lower case.
    pub(super) fn stem(self, word: &str) -> String {
        match self {
            Self::English => text::stem(word),
            Self::Listed(of) => stem_of(of.stemmer.as_ref(), word),
            Self::Unknown | Self::Unspaced => word.to_owned(),
        }
    }

    /// The stems of the words that carry a topic, with repetitions.
    pub(super) fn content_stems(self, text: &str) -> Vec<String> {
        if matches!(self, Self::Unspaced) {
            return pairs(text);
        }
        words(text).filter(|word| self.is_content(word)).map(|word| self.stem(&word)).collect()
    }

    /// The categories that a stem speaks for, in a language other than English.
    pub(super) fn topics_of(self, stem: &str) -> &'static [Category] {
        match self {
            Self::Listed(of) => of.topics.get(stem).map_or(&[], Vec::as_slice),
            Self::English | Self::Unknown | Self::Unspaced => &[],
        }
    }

    /// The code (ISO 639-1) of the language that `talk` is in: of a script that one language has, that; else what it says of itself.
    pub(super) fn code_of(self, talk: &Talk) -> String {
        if let Self::Listed(of) = self {
            return of.code.to_owned();
        }
        let letters = || talk.lines.iter().flat_map(|line| line.text.chars()).take(READ_LETTERS);
        let has = |range: std::ops::RangeInclusive<char>| letters().any(|letter| range.contains(&letter));
        match self {
            Self::Unspaced if has('\u{3041}'..='\u{30fa}') => "ja".to_owned(),
            Self::Unspaced if has('\u{4e00}'..='\u{9fff}') => "zh".to_owned(),
            Self::Unspaced if has('\u{e01}'..='\u{e5b}') => "th".to_owned(),
            Self::Unknown if has('\u{ac00}'..='\u{d7a3}') => "ko".to_owned(),
            Self::Unknown if has('\u{5d0}'..='\u{5ea}') => "he".to_owned(),
            _ => code(talk),
        }
    }

    /// Whether nouns are written with a capital.
    pub(super) fn capitalises_nouns(self) -> bool {
        matches!(self, Self::Listed(Listed { code: "de", .. }))
    }
}

impl Script {
    fn of(talk: &Talk) -> Self {
        let (mut latin, mut unspaced, mut other) = (0, 0, 0);
        let all = talk.lines.iter().flat_map(|line| words(&line.text));
        for letter in all.take(READ_WORDS).filter_map(|word| word.chars().find(|c| c.is_alphabetic())) {
            match letter {
                '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin += 2,
                // About two of them are a word.
                _ if is_unspaced(letter) => unspaced += 1,
                _ => other += 2,
            }
        }
        match latin.max(unspaced).max(other) {
            most if most == latin => Self::Latin,
            most if most == unspaced => Self::Unspaced,
            _ => Self::Other,
        }
    }
}

/// The language that a talk says it is in, without its region.
fn code(talk: &Talk) -> String {
    let code = talk.language.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    // What older telephones send.
    match code.as_str() {
        "iw" => "he".to_owned(),
        "in" => "id".to_owned(),
        "nb" | "nn" => "no".to_owned(),
        _ => code,
    }
}

/// Each two characters that stand together, where they are of a script without spaces; what is all Hiragana is grammar. Words
/// of other scripts as they are.
fn pairs(text: &str) -> Vec<String> {
    let hiragana = |word: &str| word.chars().all(|letter| matches!(letter, '\u{3041}'..='\u{309f}'));
    let mut pairs = Vec::new();
    let mut before: Option<String> = None;
    for word in words(text) {
        let unspaced = word.starts_with(is_unspaced);
        if word.chars().count() >= LONG_WORD || !unspaced && word.chars().count() > 1 {
            pairs.push(word.clone());
        }
        if let Some(before) = before.filter(|before| unspaced && !(hiragana(before) && hiragana(&word))) {
            pairs.push(format!("{before}{word}"));
        }
        before = unspaced.then_some(word);
    }
    pairs
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

/// Whether a talk that claims to be in a language with these stop words is English.
fn is_english(talk: &Talk, stop: &HashSet<&str>) -> bool {
    let said = first_words(talk);
    is_clear(share(&said, text::is_stop), share(&said, |word| stop.contains(word)))
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
            Language::Unspaced => "??",
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
        for claimed in ["ja", "zh-Hant-TW", "ko", "xx"] {
            assert_eq!(code(text, claimed), "en", "{claimed}");
        }
        let text = "Ich rufe am Montag den Vermieter an und dann reden wir darüber was er gesagt hat";
        assert_eq!(code(text, "de"), "de");
    }

    #[test]
    fn what_is_not_written_in_latin_letters_is_not_english_whatever_it_claims_to_be() {
        for (text, expected) in [
            ("明天下午三点去看牙医，记得带医保卡。", "??"),
            ("今天的standup我们讨论了API的performance问题。", "??"),
            ("พรุ่งนี้บ่ายสามโมงมีประชุม", "??"),
            ("내일 오후 세 시에 회의가 있습니다.", "?"),
            ("Завтра встреча.", "?"),
            (
                "Завтра в три часа у нас встреча с директором, и он хочет, чтобы мы все были там, потому что это важно",
                "ru",
            ),
            ("The word for it is 咖啡 in Chinese.", "en"),
        ] {
            for claimed in ["en", "", "multi", "de"] {
                let expected = if (claimed, expected) == ("de", "en") { "de" } else { expected };
                assert_eq!(code(text, claimed), expected, "{text} ({claimed})");
            }
        }
    }

    #[test]
    fn every_listed_language_has_stop_words() {
        for of in LISTED.iter() {
            assert!(of.stop.len() > 50, "{}", of.code);
        }
    }
}
