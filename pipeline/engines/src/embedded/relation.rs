//! What a topic has to do with another thing, as it was said: "mould in the bathroom", "appointment for Noah".

use std::collections::BTreeSet;

use super::capitals::restored;
use super::lexicon::is_event_noun;
use super::phrases::{self, Phrase};
use super::text::{Sentence, content_stems};

/// A topic with what it is of, for, in or with.
pub(super) struct Relation {
    /// The place of the topic.
    pub(super) head: usize,
    /// The place of the topic that the rest tells, if it tells one.
    pub(super) told: Option<usize>,
    /// Both, as they were said.
    pub(super) text: String,
}

const PREPOSITIONS: &[&str] = &["of", "for", "in"];
/// These belong to a verb as often ("email facilities about the chairs"), but for the nouns below and what takes place.
const OF_NOUNS: &[&str] = &["with", "about", "to", "at", "from", "against", "on"];
const NOUNS: &[&str] = &[
    "letter",
    "email",
    "e-mail",
    "question",
    "questions",
    "answer",
    "reply",
    "article",
    "book",
    "story",
    "invitation",
    "trip",
    "visit",
    "flight",
    "train",
    "bus",
    "ferry",
    "way",
    "key",
    "access",
    "problem",
    "trouble",
    "contract",
    "deal",
    "talks",
    "quote",
    "offer",
    "complaint",
    "complaints",
    "news",
    "advice",
    "changes",
];
const ARTICLES: &[&str] = &["the", "a", "an", "my"];
/// Longer ones say too much for a title.
const LONGEST: usize = 36;

/// The relation that ties two topics; else what the first topic is tied to by a name or where the topics are few.
pub(super) fn of(topics: &[Phrase], sentences: &[Sentence<'_>]) -> Option<Relation> {
    let mut loose = None;
    let named: Vec<String> = topics.iter().map(|topic| topic.text.to_lowercase()).collect();
    for sentence in sentences {
        let lower = sentence.text.to_lowercase();
        for (head, topic) in topics.iter().enumerate() {
            if !named.get(head).is_some_and(|name| lower.contains(name)) {
                continue;
            }
            let words: Vec<&str> = sentence.text.split_whitespace().collect();
            let Some((text, told)) = said_of(topic, &words) else { continue };
            let stems: BTreeSet<String> = content_stems(&told).into_iter().collect();
            let other = topics
                .iter()
                .enumerate()
                .position(|(at, other)| at != head && other.stems.iter().all(|stem| stems.contains(stem)));
            if other.is_some() {
                return Some(Relation { head, told: other, text });
            }
            let repeats = topics.iter().any(|other| other.stems.iter().any(|stem| stems.contains(stem)));
            if head == 0 && !repeats && topics.len() < 3 {
                loose = loose.or(Some(Relation { head, told: None, text }));
            }
        }
    }
    loose
}

/// The topic with its relation, and what it is related to.
fn said_of(topic: &Phrase, words: &[&str]) -> Option<(String, String)> {
    let length = topic.text.split(' ').count();
    let at = words.windows(length).position(|said| said.join(" ").eq_ignore_ascii_case(&topic.text))?;
    let mut rest = words.get(at + length..)?.iter();
    let noun = topic.text.rsplit(' ').next().unwrap_or_default();
    let tied = is_event_noun(noun) || NOUNS.contains(&noun);
    let preposition =
        rest.next().filter(|word| PREPOSITIONS.contains(*word) || tied && OF_NOUNS.contains(*word))?;
    let mut next = rest.next()?;
    let article = ARTICLES.contains(next).then_some(*next);
    if article.is_some() {
        next = rest.next()?;
    }
    let mut told: Vec<&str> = Vec::new();
    for word in std::iter::once(next).chain(rest) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !phrases::names(bare) || told.len() == 3 {
            break;
        }
        told.push(bare);
        if *word != bare {
            break;
        }
    }
    let named = told.first().is_some_and(|first| first.starts_with(char::is_uppercase));
    if told.is_empty() || article.is_none() && !named && *preposition != "of" {
        return None;
    }
    let told = told.join(" ");
    let article = article.map_or_else(String::new, |article| format!("{article} "));
    let text = restored(&format!("{} {preposition} {article}{told}", topic.text)).into_owned();
    (text.len() <= LONGEST).then_some((text, told))
}
