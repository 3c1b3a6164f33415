//! Titles, categories, emojis and folders.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use records::{Category, Folder};

use super::language::Language;
use super::lexicon::CATEGORIES;
use super::phrases::Phrase;
use super::text::{Sentence, capitalised, shortened, stem};

/// DECISIONS §5.
const LONGEST_TITLE: usize = 80;
/// One word that two categories share is enough for a category, one that three share is not.
const LEAST: f64 = 0.6;

/// The stems of a category's words.
static STEMS: LazyLock<HashMap<String, Vec<Category>>> = LazyLock::new(|| {
    let mut index: HashMap<String, Vec<Category>> = HashMap::new();
    for (category, _, words) in CATEGORIES {
        let stems: BTreeSet<String> = words.split_whitespace().map(stem).collect();
        for stem in stems {
            index.entry(stem).or_default().push(*category);
        }
    }
    index
});

/// The two best phrases, "A and B"; else the first words that were said.
/// In other languages "A, B", as they are written.
pub(super) fn title(topics: &[Phrase], sentences: &[Sentence<'_>], language: Language) -> String {
    let words = match topics {
        [] => sentences
            .first()
            .map_or_else(|| "Conversation".to_owned(), |first| super::text::first_words(&first.text, 8)),
        [one, other, ..] if !language.is_english() => capitalised(&format!("{}, {}", one.text, other.text)),
        [one] => title_case(&one.text),
        [one, other, ..] => format!("{} and {}", title_case(&one.text), title_case(&other.text)),
    };
    shortened(&words, LONGEST_TITLE).trim_end_matches(['.', '!', '?', ',', ';', ':', '…', ' ']).to_owned()
}

fn title_case(phrase: &str) -> String {
    phrase.split(' ').map(capitalised).collect::<Vec<_>>().join(" ")
}

/// The categories that a stem speaks for.
fn categories_of(stem: &str, language: Language) -> &'static [Category] {
    if language.is_english() { STEMS.get(stem).map_or(&[], Vec::as_slice) } else { language.topics_of(stem) }
}

/// The category whose words are said most, by the logarithm of how often; `other` when hardly any is. A word
/// that several categories share says less of each.
pub(super) fn category(frequency: &HashMap<String, f64>, language: Language) -> Category {
    let mut scores: HashMap<Category, f64> = HashMap::new();
    for (stem, count) in frequency {
        let of = categories_of(stem, language);
        for category in of {
            *scores.entry(*category).or_insert(0.0) += (1.0 + count.ln()) / (of.len() as f64).sqrt();
        }
    }
    let mut best = (Category::Other, LEAST);
    for (category, ..) in CATEGORIES {
        let score = scores.get(category).copied().unwrap_or(0.0);
        if score > best.1 + 1e-9 {
            best = (*category, score);
        }
    }
    best.0
}

/// How much each stem counts in key phrases: as often as it is said, and more when it is a word of the category.
pub(super) fn weights(
    frequency: &HashMap<String, f64>,
    category: Category,
    language: Language,
) -> HashMap<String, f64> {
    let of_category = |stem: &str| categories_of(stem, language).contains(&category);
    let weight =
        |(stem, count): (&String, &f64)| (stem.clone(), if of_category(stem) { 1.0 + count } else { *count });
    frequency.iter().map(weight).collect()
}

/// The folder whose description shares at least two stems with the talk, or that is named as its category.
pub(super) fn folder(
    folders: &[Folder],
    category: Category,
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Option<String> {
    let score = |folder: &Folder| {
        let words = format!("{} {}", folder.name, folder.description.as_deref().unwrap_or_default());
        let shared = language
            .content_stems(&words)
            .into_iter()
            .collect::<BTreeSet<_>>()
            .iter()
            .filter(|stem| frequency.contains_key(*stem))
            .count();
        let named = folder.name.eq_ignore_ascii_case(category.as_str());
        if named { shared + 2 } else { shared }
    };
    let mut best: Option<(usize, &Folder)> = None;
    for folder in folders {
        let score = score(folder);
        if score >= 2 && best.is_none_or(|(known, _)| score > known) {
            best = Some((score, folder));
        }
    }
    best.map(|(_, folder)| folder.id.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use records::FolderId;

    use super::*;

    fn folders() -> Vec<Folder> {
        let folder = |id: &str, name: &str, description: Option<&str>| Folder {
            id: FolderId::new(id),
            name: name.to_owned(),
            description: description.map(str::to_owned),
        };
        vec![
            folder("1", "Work", None),
            folder("2", "Boat", Some("repairs of the sailing boat, harbour fees")),
        ]
    }

    fn pick(category: Category, frequency: &HashMap<String, f64>) -> Option<String> {
        folder(&folders(), category, frequency, Language::English)
    }

    fn frequency(text: &str) -> HashMap<String, f64> {
        Language::English.content_stems(text).into_iter().map(|stem| (stem, 1.0)).collect()
    }

    #[test]
    fn a_folder_is_picked_by_its_description_or_by_the_category_it_is_named_as() {
        let sailing = frequency("The harbour wants new fees for the boat");
        assert_eq!(pick(Category::Other, &sailing).as_deref(), Some("2"));
        assert_eq!(pick(Category::Work, &frequency("roadmap")).as_deref(), Some("1"));
        assert_eq!(pick(Category::Music, &frequency("guitar")), None);
    }

    #[test]
    fn every_category_has_its_words_and_exactly_one_emoji() {
        for category in Category::ALL {
            let emoji = super::super::lexicon::emoji_of(*category);
            assert!(emojis::get(emoji).is_some(), "{category}: {emoji}");
            assert!(CATEGORIES.iter().any(|(known, ..)| known == category), "{category}");
        }
    }
}
