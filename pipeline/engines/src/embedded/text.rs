//! From lines to sentences, words and stems.

use std::borrow::Cow;
use std::sync::LazyLock;

use records::Talk;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use super::lexicon::is_stop_word;
use super::pattern::Pattern;
use super::unpunctuated;

/// A sentence and who said it.
#[derive(Clone, Debug)]
pub(super) struct Sentence<'a> {
    /// The words, trimmed, with straight apostrophes.
    pub(super) text: String,
    /// The speaker's name, as the talk shows it.
    pub(super) speaker: Option<&'a str>,
    /// Said by the person whose conversation it is.
    pub(super) is_user: bool,
    /// Which line of the talk it stands in.
    pub(super) line: usize,
}

/// Speech recognition without punctuation gives endless sentences; they are cut after this many words.
const LONGEST_SENTENCE: usize = 60;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
/// A stop after a word of two letters or more.
static STOP: LazyLock<Pattern> = LazyLock::new(|| pattern(r"[.!?]\s"));
static SPACES: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\s+"));
/// A stop that ends no sentence: titles, months, Latin, initials.
static ABBREVIATION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?:^|[\s(])(?:(?i:dr|mr|mrs|ms|prof|sr|jr|st|vs|etc|e\.g|i\.e|approx|dept|inc|ltd|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|a\.m|p\.m)|[A-Z])\.\s*$",
    )
});

/// Compiles a pattern of ours, once per process: callers keep it in a `LazyLock`.
pub(super) fn pattern(source: &str) -> Pattern {
    Pattern::new(source)
}

/// The sentences of `talk`, in order; only what is `english` is written in plain spelling.
pub(super) fn sentences(talk: &Talk, english: bool) -> Vec<Sentence<'_>> {
    let mut all = Vec::new();
    for (at, line) in talk.lines.iter().enumerate() {
        for text in split(&line.text, english) {
            all.push(Sentence { text, speaker: line.speaker.as_deref(), is_user: line.is_user, line: at });
        }
    }
    all
}

/// UAX 29 sentence boundaries, less those after an abbreviation.
fn split(line: &str, english: bool) -> Vec<String> {
    let line = SPACES.replace_all(line.trim(), " ").replace(['\u{2019}', '\u{2018}'], "'");
    let line = if english { plainly_spelled(&line) } else { line };
    let mut sentences: Vec<String> = Vec::new();
    let mut open = String::new();
    for piece in line.split_sentence_bounds() {
        open.push_str(piece);
        if !ends_with_abbreviation(&open) {
            push(&mut sentences, &open);
            open.clear();
        }
    }
    push(&mut sentences, &open);
    sentences
}

/// English with the endings and apostrophes that people leave out. In other languages "im" and "ill" are words.
fn plainly_spelled(line: &str) -> String {
    let line = unpunctuated::with_endings(line);
    let line = unpunctuated::with_plain_spelling(&line);
    unpunctuated::with_apostrophes(&line).into_owned()
}

/// Adds the sentences of a piece that UAX 29 takes for one: a stop may be followed by a small letter.
fn push(sentences: &mut Vec<String>, piece: &str) {
    let mut from = 0;
    for stop in STOP.spans(piece) {
        let (before, after) = (piece.get(from..stop.start + 1), piece.get(stop.start + 1..));
        let small = after.is_some_and(|after| after.trim_start().starts_with(char::is_lowercase));
        if let Some(before) = before.filter(|before| small && !ends_with_abbreviation(before)) {
            sentences.extend(unpunctuated::cut(before.trim(), LONGEST_SENTENCE));
            from = stop.start + 1;
        }
    }
    sentences.extend(unpunctuated::cut(piece.get(from..).unwrap_or_default().trim(), LONGEST_SENTENCE));
}

/// Looks at the last few bytes alone, so that a line costs what its length is.
fn ends_with_abbreviation(text: &str) -> bool {
    let from = text.ceil_char_boundary(text.len().saturating_sub(12));
    text.get(from..).is_some_and(|end| ABBREVIATION.is_match(end))
}

/// Words with which a sentence begins and that say nothing.
static OPENING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|oh|ah|well|ok|okay|right|yes|yeah|yep|no|also|then|um|uh|erm|er|sure|fine|listen|look|anyway|now|actually|honestly|by\s+the\s+way|apparently|plus|because|until\s+then|in\s+the\s+meantime|from\s+now\s+on|i\s+(?:think|guess|suppose|mean|reckon|believe)|you\s+know|what\s+about|how\s+about|speaking\s+of\s+which)\b[\s,:.]*)+",
    )
});
/// `text` without the words at its beginning that say nothing.
pub(super) fn without_opening(text: &str) -> Cow<'_, str> {
    OPENING.replace(text, "")
}

/// The words of `text`, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.unicode_words().map(str::to_lowercase)
}

/// Words whose stem is another word's, too: a universal remote belongs to no university.
const UNSTEMMED: &[(&str, &str)] = &[
    ("university", "university"),
    ("universities", "university"),
    ("renewable", "renewable"),
    ("renewables", "renewable"),
    ("policy", "policy"),
    ("policies", "policy"),
    ("politics", "politics"),
];

/// A longer run of letters is no word of any language, and stemmers take its length squared.
const LONGEST_WORD: usize = 200;

/// What a language's stemmer makes of a word in lower case; what is too long to be a word stays as it is.
pub(super) fn stemmed(stemmer: &Stemmer, word: &str) -> String {
    if word.len() > LONGEST_WORD { word.to_owned() } else { stemmer.stem(word).into_owned() }
}

/// The stem of an English word in lower case; numbers stay as they are.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = UNSTEMMED.iter().find(|(known, _)| *known == word) {
        return (*stem).to_owned();
    }
    stemmed(&STEMMER, word.strip_suffix("'s").unwrap_or(word))
}

/// The stems of the words that carry a topic, with repetitions. "Of course" is no course.
pub(super) fn content_stems(text: &str) -> Vec<String> {
    let mut after_of = false;
    let mut stems = Vec::new();
    for word in words(text) {
        if is_content(&word) && !(after_of && word == "course") {
            stems.push(stem(&word));
        }
        after_of = word == "of";
    }
    stems
}

/// Whether an English word (lower case) carries no topic.
pub(super) fn is_stop(word: &str) -> bool {
    is_stop_word(word)
}

/// Whether a word (lower case) carries a topic: numbers do, single letters do not.
pub(super) fn is_content(word: &str) -> bool {
    let numeric = word.starts_with(|c: char| c.is_ascii_digit());
    let bare = word.strip_suffix("'s").unwrap_or(word);
    numeric || (word.chars().count() > 1 && !is_stop_word(word) && !is_stop_word(bare))
}

/// `text` with a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The third person of a verb's base form.
pub(super) fn third_person(verb: &str) -> String {
    match verb {
        "have" => "has".to_owned(),
        "be" => "is".to_owned(),
        _ if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("ch") || verb.ends_with("sh") => {
            format!("{verb}es")
        }
        _ => match verb.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ => format!("{verb}s"),
        },
    }
}

/// `text` with a small first letter.
pub(super) fn decapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// At most `limit` words of `text`.
pub(super) fn first_words(text: &str, limit: usize) -> String {
    text.split_whitespace().take(limit).collect::<Vec<_>>().join(" ")
}

/// At most `limit` characters of `text`, cut after a whole word.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let cut = stages::shortened(text, limit);
    if cut.len() == text.len() { cut } else { cut.trim_end_matches([',', ';', ':', ' ', '-']).to_owned() }
}

/// Whether a name ends as nouns for several do: "wigs", and not "glass" or "virus".
pub(super) fn ends_as_plural(name: &str) -> bool {
    name.ends_with('s') && !name.ends_with("ss") && !name.ends_with("us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_do_not_end_a_sentence() {
        let found = split("Dr. Smith comes on Jan. 5 at 9 a.m. sharp. Please be there. Ask J. Doe.", true);
        assert_eq!(found, ["Dr. Smith comes on Jan. 5 at 9 a.m. sharp.", "Please be there.", "Ask J. Doe."]);
    }

    #[test]
    fn a_line_without_punctuation_is_cut_into_bearable_pieces() {
        let line = "word ".repeat(150);
        assert_eq!(split(&line, true).len(), 3);
    }

    #[test]
    fn text_is_shortened_after_a_whole_word() {
        assert_eq!(shortened("one two, three", 10), "one two");
    }
}
