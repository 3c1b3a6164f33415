//! What the 33 categories sound like: the words are in `categories.txt`, which says how it is written.

use std::collections::HashMap;
use std::sync::LazyLock;

use records::Category;

/// How much a word says that names a subject.
pub(in crate::embedded) const NAMES: f64 = 1.0;
/// How much a word says that hints at one. A single hint is not enough for a category, two of one category are.
pub(in crate::embedded) const HINTS: f64 = 0.4;
/// How much a pair of words says: it is seldom said of anything else.
pub(in crate::embedded) const PAIR: f64 = 1.5;

/// A category, its emoji, its words and pairs of words (joined by `_` or `-`), and what each says.
pub(in crate::embedded) struct Subject {
    pub(in crate::embedded) category: Category,
    pub(in crate::embedded) emoji: &'static str,
    pub(in crate::embedded) words: Vec<(&'static str, f64)>,
}

/// The categories; where scores are equal the earlier one wins.
pub(in crate::embedded) static SUBJECTS: LazyLock<Vec<Subject>> =
    LazyLock::new(|| read(include_str!("categories.txt")));

static EMOJIS: LazyLock<HashMap<Category, &'static str>> =
    LazyLock::new(|| SUBJECTS.iter().map(|subject| (subject.category, subject.emoji)).collect());

/// The emoji of `category`.
pub(in crate::embedded) fn emoji_of(category: Category) -> &'static str {
    EMOJIS.get(&category).copied().unwrap_or("💬")
}

fn read(text: &'static str) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let weight = |word: &str| match (line.starts_with('~'), word.contains(['_', '-'])) {
            (true, _) => HINTS,
            (false, true) => PAIR,
            (false, false) => NAMES,
        };
        match line.strip_prefix(['=', '~']) {
            Some(words) => {
                let words = words.split_whitespace().map(|word| (word, weight(word)));
                subjects.last_mut().into_iter().for_each(|subject| subject.words.extend(words.clone()));
            }
            None => subjects.extend(head(line)),
        }
    }
    subjects
}

/// "health 🩺".
fn head(line: &'static str) -> Option<Subject> {
    let (category, emoji) = line.split_once(' ')?;
    Some(Subject { category: Category::from_name(category)?, emoji, words: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_one_emoji_and_words_but_other() {
        for category in Category::ALL {
            let of: Vec<_> = SUBJECTS.iter().filter(|subject| subject.category == *category).collect();
            assert_eq!(of.len(), 1, "{category}");
            assert!(emojis::get(of[0].emoji).is_some(), "{category}: {}", of[0].emoji);
            assert_eq!(of[0].words.is_empty(), *category == Category::Other, "{category}");
        }
    }

    #[test]
    fn no_subject_names_a_word_twice() {
        for subject in SUBJECTS.iter() {
            let mut words: Vec<&str> = subject.words.iter().map(|(word, _)| *word).collect();
            words.sort_unstable();
            let twice: Vec<_> = words.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{}: {twice:?}", subject.category);
        }
    }
}
