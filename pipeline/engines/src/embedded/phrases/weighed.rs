//! Which phrases belong in a title, as titles taught: what a phrase is made of, what stands beside it, how often and where it is said.

use std::collections::BTreeSet;

use super::super::learned::TITLES;
use super::super::learned::features::{Feature, Features, alike, hash};
use super::super::lexicon::is_adjective;
use super::{Candidate, Known, Phrase};

/// Among so many, the best by their scores, the topics of a talk are looked for.
const CANDIDATES: usize = 40;

/// The phrases, the one that belongs in the title most first.
pub(super) fn ranked(candidates: Vec<Candidate>, known: &Known<'_>) -> Vec<Phrase> {
    let features = features_of_all(&candidates, known);
    let odds = features.iter().map(|features| TITLES.odds(features, 0));
    let phrases = candidates.into_iter().map(|candidate| candidate.phrase);
    let mut weighed: Vec<(f32, Phrase)> = odds.zip(phrases).collect();
    // Equals stay in the order of their scores.
    weighed.sort_by(|one, other| other.0.total_cmp(&one.0));
    weighed.into_iter().map(|(_, phrase)| phrase).collect()
}

/// The features of the best `candidates`, which are sorted by their scores.
pub(in crate::embedded) fn features_of_all(candidates: &[Candidate], known: &Known<'_>) -> Vec<Vec<Feature>> {
    let best = candidates.iter().take(CANDIDATES).enumerate();
    best.map(|(rank, candidate)| features(candidate, rank, known)).collect()
}

fn features(candidate: &Candidate, rank: usize, known: &Known<'_>) -> Vec<Feature> {
    let Candidate { phrase, is, .. } = candidate;
    let mut features = Features::default();
    features.add("always", &[]);
    features.add("rank", &[if rank < 6 { rank } else { 6 + (rank / 4).min(6) } as u64]);
    features.level("score", phrase.score.max(0.05).ln(), 3.0);
    features.level("said", (phrase.said as f64).ln(), 4.0);
    let frequencies = || phrase.stems.iter().map(|stem| known.frequency.get(stem).copied().unwrap_or(0.0));
    features.level("most frequent", frequencies().fold(0.0, f64::max).ln_1p(), 4.0);
    features.level("least frequent", frequencies().fold(f64::MAX, f64::min).ln_1p(), 4.0);
    features.level("place", candidate.place as f64 / candidate.sentences as f64, 6.0);
    features.add("early", &[candidate.place.min(3) as u64]);
    features.add("sentences", &[(candidate.sentences / 7).min(6) as u64]);
    let next = || phrase.stems.iter().map(|stem| known.next.get(stem).copied().unwrap_or(0.0));
    features.level("most of next", next().fold(0.0, f64::max), 2.0);
    features.level("least of next", next().fold(f64::MAX, f64::min), 2.0);
    let kinds = [
        ("noun", is.noun),
        ("vague", is.vague),
        ("speaker", is.speaker),
        ("person", is.person),
        ("named", is.named),
    ];
    kinds.into_iter().filter(|(_, is)| *is).for_each(|(name, _)| features.add(name, &[]));
    let texts: BTreeSet<(&str, &str)> = candidate
        .beside
        .iter()
        .flat_map(|[before, after]| [("before", before.as_str()), ("after", after.as_str())])
        .collect();
    texts.into_iter().for_each(|(side, word)| features.add(side, &[hash(word)]));
    let words: Vec<String> = phrase.text.to_lowercase().split(' ').map(str::to_owned).collect();
    features.add("words", &[words.len() as u64]);
    features.add("adjectives", &[words.iter().filter(|word| is_adjective(word)).count() as u64]);
    for (at, (word, stem)) in words.iter().zip(&phrase.stems).enumerate() {
        let part = if at + 1 == words.len() { "head" } else { "before head" };
        features.add(part, &[hash(stem)]);
        if let Some([group, family]) = alike(word) {
            features.add(part, &[hash("group"), group]);
            features.add(part, &[hash("family"), family]);
        }
    }
    features.0
}

impl Features {
    /// How much of `name` there is, in steps of which `per` make one.
    fn level(&mut self, name: &str, much: f64, per: f64) {
        self.add(name, &[((much * per).floor().clamp(-8.0, 12.0) as i64).cast_unsigned()]);
    }
}
