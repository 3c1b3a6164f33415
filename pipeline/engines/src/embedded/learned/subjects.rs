//! What a talk is about: its words, and the groups of words that are used alike.

use std::collections::BTreeSet;

use records::Category;

use super::super::text::Sentence;
use super::SUBJECTS;
use super::features::{self, Feature, Features, Read};

/// The features of a talk: each word and group once.
pub(in crate::embedded) fn of(sentences: &[Read<'_>]) -> Vec<Feature> {
    let mut features = Features::default();
    features.add("always", &[]);
    for word in sentences.iter().flat_map(Read::words) {
        features.add("stem", &[word.stem]);
        if let Some([group, _]) = word.alike {
            features.add("group", &[group]);
        }
    }
    let distinct: BTreeSet<Feature> = features.0.into_iter().collect();
    distinct.into_iter().collect()
}

/// What speaks for each category beside what the word lists say, in the order of [`Category::ALL`].
pub(in crate::embedded) fn odds(sentences: &[Sentence<'_>]) -> impl Iterator<Item = (Category, f32)> {
    Category::ALL.iter().copied().zip(SUBJECTS.all_odds(&of(&features::read(sentences))))
}
