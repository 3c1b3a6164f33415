//! What a talk is about: one of the 33 categories, and which words speak for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use records::Category;

use super::language::Language;
use super::learned::subjects;
use super::lexicon::{HINTS, SUBJECTS};
use super::text::{Sentence, stem, words};

/// One word that names a subject and that two of them share is enough for a category, one that three share is not;
/// one that only hints is not, two are.
const LEAST: f64 = 0.6;

/// Hints beyond this say less, each a part of what it would: in a long talk there are some of everything.
const MANY: f64 = 1.2;
const SURPLUS: f64 = 0.75;

/// What a category gains by what is said of its kin: a talk with a little of many trades is about work of some kind.
const KIN: f64 = 0.2;

/// Categories that occur together. One in two groups leans on both.
const GROUPS: &[&[Category]] = {
    use Category::*;
    &[
        &[Work, Business, Technology, Design, Finance, Legal, Entrepreneurship],
        &[Personal, Family, Parenting, Social, Romantic, Real],
        &[Education, Science, History, Literature, Philosophy],
        &[Politics, News, Economics, Environment, Weather],
        &[Sports, Music, Entertainment, Travel],
        &[Psychology, Spiritual, Inspiration, Health],
        &[Architecture, Design, Real],
    ]
};

/// A category and how much a word says of it.
type Voice = (Category, f64);

/// The stems of the categories' words.
static STEMS: LazyLock<HashMap<String, Vec<Voice>>> = LazyLock::new(|| {
    let mut index: HashMap<String, Vec<Voice>> = HashMap::new();
    for (category, word, weight) in spoken().filter(|(_, word, _)| !word.contains(['_', '-'])) {
        strengthen(index.entry(stem(word)).or_default(), category, weight);
    }
    index
});

/// The categories' pairs of words: the first's stem, and by it the second's.
static PAIRS: LazyLock<HashMap<String, HashMap<String, Vec<Voice>>>> = LazyLock::new(|| {
    let mut index: HashMap<String, HashMap<String, Vec<Voice>>> = HashMap::new();
    for (category, pair, weight) in spoken() {
        if let Some((first, second)) = pair.split_once(['_', '-']) {
            let seconds = index.entry(stem(first)).or_default();
            strengthen(seconds.entry(stem(second)).or_default(), category, weight);
        }
    }
    index
});

fn spoken() -> impl Iterator<Item = (Category, &'static str, f64)> {
    SUBJECTS
        .iter()
        .flat_map(|subject| subject.words.iter().map(|(word, weight)| (subject.category, *word, *weight)))
}

/// Two forms of a word may have one stem: the stronger rules.
fn strengthen(voices: &mut Vec<Voice>, category: Category, weight: f64) {
    match voices.iter_mut().find(|(known, _)| *known == category) {
        Some((_, known)) => *known = known.max(weight),
        None => voices.push((category, weight)),
    }
}

/// What a stem says of which categories.
fn voices(stem: &str, language: Language) -> Vec<Voice> {
    if language.is_english() {
        return STEMS.get(stem).cloned().unwrap_or_default();
    }
    language.topics_of(stem).iter().map(|category| (*category, 1.0)).collect()
}

/// The category whose words are said most, by the logarithm of how often; `other` when hardly any is. A word
/// that several categories share says less of each. In English the odds that whole talks taught are added.
pub(super) fn category(
    sentences: &[Sentence<'_>],
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Category {
    let scores = scores(sentences, frequency, language);
    if language.is_english() && is_talk(sentences) {
        let odds = subjects::odds(sentences);
        let odds = odds.map(|(category, odds)| (category, f64::from(odds) + said(&scores, category)));
        let best = odds.max_by(|one, other| one.1.total_cmp(&other.1));
        return best.map_or(Category::Other, |(category, _)| category);
    }
    let mut best = (Category::Other, LEAST);
    for subject in SUBJECTS.iter() {
        let score = with_kin(&scores, subject.category);
        if score > best.1 + 1e-9 {
            best = (subject.category, score);
        }
    }
    best.0
}

/// Shorter texts are notes, of which whole talks teach nothing.
const LEAST_WORDS: usize = 25;

fn is_talk(sentences: &[Sentence<'_>]) -> bool {
    sentences.iter().flat_map(|sentence| sentence.text.split_whitespace()).nth(LEAST_WORDS).is_some()
}

/// How much what the words of a category say counts beside what talks taught.
const OF_WORDS: f64 = 3.0;

/// What the words of `category` add to its odds.
pub(super) fn said(scores: &HashMap<Category, f64>, category: Category) -> f64 {
    OF_WORDS * with_kin(scores, category).ln_1p()
}

/// How much is said of each category.
pub(super) fn scores(
    sentences: &[Sentence<'_>],
    frequency: &HashMap<String, f64>,
    language: Language,
) -> HashMap<Category, f64> {
    let (mut named, mut hinted): (HashMap<Category, f64>, HashMap<Category, f64>) = Default::default();
    // In the order of words, so that sums of fractions are the same every time.
    let mut said: Vec<_> = frequency.iter().collect();
    said.sort_unstable_by_key(|(stem, _)| *stem);
    for (stem, count) in said {
        let (names, hints): (Vec<Voice>, Vec<Voice>) =
            voices(stem, language).into_iter().partition(|(_, weight)| *weight > HINTS);
        let shared: f64 = names.iter().chain(&hints).map(|(_, weight)| weight).sum();
        count_in(&mut named, &names, *count, shared);
        count_in(&mut hinted, &hints, *count, shared);
    }
    if language.is_english() {
        let mut pairs: Vec<_> = pairs(sentences).into_iter().collect();
        pairs.sort_unstable_by_key(|(pair, _)| *pair);
        for ((first, second), count) in pairs {
            let voices = PAIRS.get(first).and_then(|seconds| seconds.get(second));
            let voices = voices.map_or(&[][..], Vec::as_slice);
            count_in(&mut named, voices, count, voices.iter().map(|(_, weight)| weight).sum());
        }
    }
    let mut scores = named;
    for (category, hints) in hinted {
        *scores.entry(category).or_insert(0.0) +=
            if hints > MANY { MANY + SURPLUS * (hints - MANY) } else { hints };
    }
    scores
}

/// The score of `category` with a part of its kin's; nothing where nothing was said of itself.
fn with_kin(scores: &HashMap<Category, f64>, category: Category) -> f64 {
    let of = |category: &Category| scores.get(category).copied().unwrap_or(0.0);
    let own = of(&category);
    let groups = GROUPS.iter().filter(|group| group.contains(&category));
    let kin: f64 = groups.flat_map(|group| group.iter()).filter(|other| **other != category).map(of).sum();
    if own > 0.0 { own + KIN * kin } else { 0.0 }
}

/// `shared` is what a word says of all its categories.
fn count_in(scores: &mut HashMap<Category, f64>, voices: &[Voice], count: f64, shared: f64) {
    for (category, weight) in voices {
        *scores.entry(*category).or_insert(0.0) += weight * (1.0 + count.ln()) / shared.max(1.0).sqrt();
    }
}

/// How often each pair of the categories is said.
fn pairs(sentences: &[Sentence<'_>]) -> HashMap<(&'static str, &'static str), f64> {
    let mut found = HashMap::new();
    // Long talk says the same words again and again; each is stemmed once.
    let mut stems: HashMap<String, String> = HashMap::new();
    for sentence in sentences {
        let mut seconds: Option<(&'static String, &'static HashMap<String, Vec<Voice>>)> = None;
        for word in words(&sentence.text) {
            let stem = stems.entry(word).or_insert_with_key(|word| stem(word));
            if let Some((first, seconds)) = seconds
                && let Some((second, _)) = seconds.get_key_value(stem)
            {
                *found.entry((first.as_str(), second.as_str())).or_insert(0.0) += 1.0;
            }
            seconds = PAIRS.get_key_value(stem);
        }
    }
    found
}

/// How much each stem counts in key phrases: as often as it is said, and more when it is a word of the category.
pub(super) fn weights(
    frequency: &HashMap<String, f64>,
    category: Category,
    language: Language,
) -> HashMap<String, f64> {
    let says = |stem: &str| {
        let voices = voices(stem, language);
        voices.iter().find(|(of, _)| *of == category).map_or(0.0, |(_, weight)| *weight)
    };
    frequency.iter().map(|(stem, count)| (stem.clone(), count + says(stem))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::phrases::frequencies;
    use super::*;

    fn category_of(text: &str) -> Category {
        let sentence = Sentence { text: text.to_owned(), speaker: None, is_user: false, line: 0 };
        let sentences = [sentence];
        category(&sentences, &frequencies(&sentences, Language::English), Language::English)
    }

    #[test]
    fn a_pair_says_what_its_words_do_not() {
        assert_eq!(category_of("The black hole was seen again"), Category::Science);
        assert_eq!(category_of("There is a hole, and it is black"), Category::Other);
    }

    #[test]
    fn one_hint_is_no_subject_and_two_are() {
        assert_eq!(category_of("Put it on the table by the tooth"), Category::Other);
        assert_eq!(category_of("The tooth under the crown"), Category::Health);
    }
}
