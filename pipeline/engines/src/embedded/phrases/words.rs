//! What single words of a talk are: names of people, nouns, words that say little.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::super::language::Language;
use super::super::lexicon::{ends_a_phrase, is_person};
use super::super::pattern::Pattern;
use super::super::text::{self, Sentence, pattern};
use super::runs::{SHOWS_NOUN, is_topical};

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
pub(super) fn people(sentences: &[Sentence<'_>], language: Language) -> HashSet<String> {
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

/// A noun that says little by itself.
pub(super) fn is_vague_noun(word: &str) -> bool {
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
pub(super) fn nouns(sentences: &[Sentence<'_>], language: Language) -> HashSet<String> {
    let mut found = HashSet::new();
    if !language.is_english() {
        return found;
    }
    for sentence in sentences {
        let words: Vec<String> = text::words(&sentence.text).collect();
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

/// The words that are written with a capital inside a sentence.
pub(super) fn named<'t>(sentences: &'t [Sentence<'_>]) -> HashSet<&'t str> {
    let words = sentences.iter().flat_map(|sentence| sentence.text.split_whitespace().skip(1));
    let bare = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    bare.filter(|word| word.starts_with(char::is_uppercase)).collect()
}
