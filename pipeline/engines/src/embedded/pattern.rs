//! Regular expressions over text of any script. Where a pattern asks for word boundaries, the regex crate's fast way
//! reads ASCII alone, and the other takes some fifty times as long. The patterns here are of English words, so they
//! are tried on [`ascii`] first, which tells at once that most texts do not match.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::{Captures, Match, Regex, RegexBuilder, RegexSet, RegexSetBuilder, Replacer};

/// A pattern of ours.
pub(super) struct Pattern(Regex);

/// Letters of the scripts that English talk names people and places in. All letters of Unicode have so many ranges, each
/// of which is folded for every place where a pattern asks for a letter, that most of the time of the first call went
/// into compiling them.
const LETTERS: &str =
    r"A-Za-zÀ-ÖØ-öø-\u{52F}\u{591}-\u{109F}\u{1E00}-\u{1EFF}\u{3041}-\u{A63F}\u{AC00}-\u{D7A3}";
const CAPITALS: &str = r"[\u{0}-\u{52F}]&&\p{Lu}";
const SMALL: &str = r"[\u{0}-\u{52F}]&&\p{Ll}";

/// `source` with classes of as few ranges as English talk needs. A class that has letters has both cases, or means one:
/// it is not folded.
fn narrowed(source: &str) -> String {
    let mut narrow = String::with_capacity(2 * source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['\\', '[']) {
        let (before, from) = rest.split_at(at);
        narrow.push_str(before);
        let length = if from.starts_with('[') { class_length(from) } else { escape_length(from) };
        let (piece, after) = from.split_at(length);
        let inner = piece.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(piece);
        let ranges = inner
            .replace(r"\p{L}", &format!("[{LETTERS}]"))
            .replace(r"\p{Lu}", &format!("[{CAPITALS}]"))
            .replace(r"\p{Ll}", &format!("[{SMALL}]"))
            .replace(r"\d", "[0-9]")
            .replace(r"\w", &format!("[{LETTERS}0-9_]"))
            .replace(r"\W", &format!("[^{LETTERS}0-9_]"));
        match (ranges == inner, piece.starts_with('[')) {
            (true, _) => narrow.push_str(piece),
            (false, true) => narrow.push_str(&format!("(?-i:[{ranges}])")),
            (false, false) => narrow.push_str(&format!("(?-i:{ranges})")),
        }
        rest = after;
    }
    narrow + rest
}

/// How long the class is with which `from` begins; ours have no classes in them.
fn class_length(from: &str) -> usize {
    let mut escaped = false;
    let end = from.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == ']' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(from.len(), |(at, _)| at + 1)
}

/// How long the escape is with which `from` begins: `\s`, `\p{Lu}`.
fn escape_length(from: &str) -> usize {
    let braced = from.starts_with(r"\p{") || from.starts_with(r"\u{");
    let end =
        if braced { from.find('}').map(|at| at + 1) } else { from.char_indices().nth(2).map(|(at, _)| at) };
    end.unwrap_or(from.len())
}

impl Pattern {
    /// Compiles a pattern, once per process: callers keep it in a `LazyLock`.
    pub(super) fn new(source: &str) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "patterns are literals and word lists of this crate; the tests compile every one"
        )]
        Self(Regex::new(&narrowed(source)).expect("a pattern of ours"))
    }

    /// The same for a pattern of long word lists, whose states are more than regexes remember by themselves.
    pub(super) fn large(source: &str) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "patterns are literals and word lists of this crate; the tests compile every one"
        )]
        Self(
            RegexBuilder::new(&narrowed(source))
                .dfa_size_limit(REMEMBERED)
                .build()
                .expect("a pattern of ours"),
        )
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.may_match(text) && self.0.is_match(text)
    }

    pub(super) fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        if self.may_match(text) { self.0.find(text) } else { None }
    }

    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        if self.may_match(text) { self.0.captures(text) } else { None }
    }

    /// The first match from byte `at` on.
    pub(super) fn captures_at<'t>(&self, text: &'t str, at: usize) -> Option<Captures<'t>> {
        self.0.captures_at(text, at)
    }

    /// Every match.
    pub(super) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let tried = self.may_match(text).then(|| self.0.captures_iter(text));
        tried.into_iter().flatten()
    }

    pub(super) fn find_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        let tried = self.may_match(text).then(|| self.0.find_iter(text));
        tried.into_iter().flatten()
    }

    /// The bytes of every match; for patterns of nothing but ASCII.
    pub(super) fn spans(&self, text: &str) -> Vec<Range<usize>> {
        self.0.find_iter(&ascii(text)).map(|found| found.range()).collect()
    }

    pub(super) fn replace<'t>(&self, text: &'t str, by: impl Replacer) -> Cow<'t, str> {
        if self.may_match(text) { self.0.replace(text, by) } else { Cow::Borrowed(text) }
    }

    pub(super) fn replace_all<'t>(&self, text: &'t str, by: impl Replacer) -> Cow<'t, str> {
        if self.may_match(text) { self.0.replace_all(text, by) } else { Cow::Borrowed(text) }
    }

    fn may_match(&self, text: &str) -> bool {
        text.is_ascii() || self.0.is_match(&ascii(text))
    }
}

/// Several patterns, of which one pass over a text tells those that match. Each is compiled when it first matches: of
/// many, few do in one talk.
pub(super) struct Patterns {
    all: Vec<LazyPattern>,
    set: RegexSet,
}

/// A pattern of a list, compiled when it is first needed.
pub(super) struct LazyPattern {
    source: String,
    compiled: OnceLock<Pattern>,
}

/// Of the states that a set remembers, in bytes: with less it forgets them again and again.
const REMEMBERED: usize = 8 << 20;

impl Patterns {
    /// Compiles patterns, once per process: callers keep them in a `LazyLock`.
    pub(super) fn new(sources: &[String]) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "patterns are literals and word lists of this crate; the tests compile every one"
        )]
        let set = RegexSetBuilder::new(sources.iter().map(|source| narrowed(source)))
            .size_limit(64 << 20)
            .dfa_size_limit(REMEMBERED)
            .build()
            .expect("patterns of ours");
        Self { all: sources.iter().cloned().map(LazyPattern::new).collect(), set }
    }

    /// The patterns that match `text`, with their places, in order.
    pub(super) fn matching(&self, text: &str) -> Vec<(usize, &Pattern)> {
        let found = self.set.matches(&ascii(text));
        found.iter().filter_map(|at| Some((at, self.all.get(at)?.get()))).collect()
    }
}

/// Patterns, each with what reads its matches.
pub(super) struct Rules<R> {
    patterns: Patterns,
    readers: Vec<R>,
}

impl<R> Rules<R> {
    /// Compiles rules, once per process: callers keep them in a `LazyLock`.
    pub(super) fn new(rules: impl IntoIterator<Item = (String, R)>) -> Self {
        let (sources, readers): (Vec<String>, Vec<R>) = rules.into_iter().unzip();
        Self { patterns: Patterns::new(&sources), readers }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.readers.len()
    }

    /// The rules that match `text`, with their places, in order.
    pub(super) fn matching(&self, text: &str) -> impl Iterator<Item = (usize, &Pattern, &R)> {
        let matching = self.patterns.matching(text).into_iter();
        matching.filter_map(|(at, pattern)| Some((at, pattern, self.readers.get(at)?)))
    }
}

impl LazyPattern {
    pub(super) fn new(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &Pattern {
        self.compiled.get_or_init(|| Pattern::large(&self.source))
    }
}

/// `text` with other characters than those of ASCII replaced by as many bytes of their kind: letters by `x`, numbers by
/// `0`, white space, dashes and signs of money by theirs. Every span in it is one of `text`.
pub(super) fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        let kind = match c {
            _ if c.is_ascii() => c,
            '\u{2010}'..='\u{2015}' => '-',
            '€' | '£' => '$',
            '…' | '\u{2018}'..='\u{201f}' => '"',
            _ if c.is_whitespace() => ' ',
            _ if c.is_numeric() => '0',
            _ if c.is_uppercase() => 'X',
            // Marks belong to the letters that they stand on.
            _ if c.is_alphabetic() || matches!(c, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}') => 'x',
            _ => '~',
        };
        ascii.push(kind);
        let rest = if kind == 'X' { 'x' } else { kind };
        ascii.extend(std::iter::repeat_n(rest, c.len_utf8() - 1));
    }
    Cow::Owned(ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_keeps_its_place_and_its_kind() {
        let text = "Él café – 5€, ٣ días\u{a0}ok…";
        let ascii = ascii(text);
        assert_eq!(ascii, "Xxl cafxx --- 5$$$, 00 dxxas  ok\"\"\"");
        assert_eq!(ascii.len(), text.len());
    }

    #[test]
    fn words_are_found_beside_other_scripts_and_not_within_their_words() {
        let pattern = Pattern::new(r"(?i)\b(?:or|i\s+will)\b");
        assert!(!pattern.is_match("señor mañana"));
        assert!(pattern.is_match("я буду, I will"));
        assert_eq!(pattern.spans("señor or я").first(), Some(&(7..9)));
        assert!(pattern.captures("señor").is_none());
    }
}
