//! Titles and folders.

use std::collections::{BTreeSet, HashMap};

use records::{Category, Folder, Meeting, is_unspaced};
use stages::is_title;

use super::capitals::restored;
use super::language::Language;
use super::phrases::Phrase;
use super::relation;
use super::text::{Sentence, capitalised, first_words, shortened};

/// DECISIONS §5.
const LONGEST_TITLE: usize = 80;
/// Of a title in a script without spaces, in characters: about as wide as one of other scripts.
const LONGEST_CLAUSE: usize = 30;
/// What is shorter names no subject yet ("もしもし、").
const SHORTEST_CLAUSE: usize = 6;
/// The title that the talk has in a calendar, if it has words; else the best phrases, with what was said of one of them; else the first words that were said.
/// In other languages "A, B", as they are written.
pub(super) fn title(
    planned: Option<&Meeting>,
    topics: &[Phrase],
    sentences: &[Sentence<'_>],
    language: Language,
) -> String {
    let planned = planned.and_then(|meeting| meeting.title.as_deref());
    // A bare link, say, would not be kept, and the whole description with it.
    if let Some(title) = planned.map(|title| shortened(title, LONGEST_TITLE)).filter(|title| is_title(title))
    {
        return title;
    }
    let words = match topics {
        [] => sentences.first().map_or_else(|| "Conversation".to_owned(), |first| beginning(&first.text)),
        [one, other, ..] if !language.is_english() => capitalised(&format!("{}, {}", one.text, other.text)),
        _ => capitalised(&composed(topics, sentences)),
    };
    shortened(&words, LONGEST_TITLE).trim_end_matches(['.', '!', '?', ',', ';', ':', '…', ' ']).to_owned()
}

/// The first words of a sentence; in a script without spaces its first clause.
fn beginning(sentence: &str) -> String {
    if !sentence.contains(is_unspaced) {
        return first_words(sentence, 8);
    }
    let ends = |(_, letter): &(usize, char)| "、，。！？；".contains(*letter);
    let clause = sentence.char_indices().skip(SHORTEST_CLAUSE).find(ends);
    let clause = clause.and_then(|(end, _)| sentence.get(..end)).unwrap_or(sentence);
    shortened(clause, LONGEST_CLAUSE)
}

/// "Key for the bike shed, rent and contract"; where one topic is what the others are said of, "Wedding: menu and band".
fn composed(topics: &[Phrase], sentences: &[Sentence<'_>]) -> String {
    let relation = relation::of(topics, sentences);
    let mut parts: Vec<String> = Vec::new();
    for (at, topic) in topics.iter().enumerate() {
        match &relation {
            Some(relation) if relation.head == at => parts.push(relation.text.clone()),
            Some(relation) if relation.told == Some(at) => {}
            _ => parts.push(restored(&topic.text).into_owned()),
        }
    }
    let subject = matches!(topics, [one, other, ..] if one.dominates(other));
    match parts.as_slice() {
        [one, two, three] if subject => format!("{one}: {two} and {three}"),
        [one, two, three] => format!("{one}, {two} and {three}"),
        [one, two] => format!("{one} and {two}"),
        _ => parts.concat(),
    }
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
}
