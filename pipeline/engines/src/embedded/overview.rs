//! The overview: the sentences that say most, in their order.
//!
//! TextRank compares every sentence with every other; here only the [`CANDIDATES`] best by frequency
//! are compared, so that the work grows with the length of the talk and not with its square.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::language::Language;
use super::pattern::Pattern;
use super::phrases::Phrase;
use super::text::{Sentence, capitalised, pattern, shortened};

/// How many sentences are compared with each other.
const CANDIDATES: usize = 200;
const ROUNDS: usize = 20;
const DAMPING: f64 = 0.85;
/// Of one sentence, in characters.
const LONGEST: usize = 240;

static CUE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:agreed|decided|decision|postpone|plan|will|need|must|deadline|because|failed|problem|result|important|scheduled)\b|\d",
    )
});
/// Fillers; and words that are fillers only where a comma or a stop says so: "No tablet after five" is no "no".
static OPENING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^(?:
            (?:uh|um|er|so|well|okay|ok|yeah|yep|oh|and|but|anyway|hey|hi|hm+|ah|aha|lol|haha|you\ know|i\ mean|note\ to\ self)\b[,.!]*\s*
          | (?:yes|no|nope|right|alright|sure|great|good|fine|thanks|sounds\ good|ha|wow|cool|perfect|exactly|lovely|i\ see)\b\s*[,.!]+\s*
        )+",
    )
});

struct Candidate {
    place: usize,
    stems: BTreeSet<String>,
    weight: f64,
}

/// A few sentences about the talk, led by its topics.
/// `frequency` says how often each stem is said.
pub(super) fn overview(
    sentences: &[Sentence<'_>],
    topics: &[Phrase],
    frequency: &HashMap<String, f64>,
    language: Language,
) -> String {
    let chosen: Vec<String> = chosen(sentences, frequency, language)
        .into_iter()
        .filter_map(|place| sentences.get(place))
        .map(|sentence| plain(&sentence.text))
        .collect();
    let topics: Vec<&str> = topics.iter().map(|phrase| phrase.text.as_str()).collect();
    match (topics.is_empty(), chosen.is_empty()) {
        (true, _) => chosen.join(" "),
        (false, true) => format!("About {}.", listed(&topics)),
        (false, false) => format!("About {}. {}", listed(&topics), chosen.join(" ")),
    }
}

/// "a, b and c".
fn listed(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A sentence without its opening fillers, with a capital and a full stop.
pub(super) fn plain(sentence: &str) -> String {
    let bare = OPENING.replace(sentence, "");
    let bare = if bare.split_whitespace().count() < 2 { sentence } else { bare.as_ref() };
    let text = capitalised(&shortened(bare.trim(), LONGEST));
    if text.ends_with(['.', '!', '?', '…']) {
        text
    } else {
        format!("{}.", text.trim_end_matches([',', ';', ':']))
    }
}

/// The places of the best sentences, in order; three to five, by the length of the talk.
fn chosen(sentences: &[Sentence<'_>], frequency: &HashMap<String, f64>, language: Language) -> Vec<usize> {
    let candidates = candidates(sentences, frequency, language);
    let mut ranked: Vec<(f64, &Candidate)> = ranks(&candidates).into_iter().zip(&candidates).collect();
    ranked.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.place.cmp(&other.place)));
    let limit = (2 + sentences.len() / 8).clamp(3, 5);
    let mut kept: Vec<&Candidate> = Vec::new();
    for (_, candidate) in ranked {
        let new = kept.iter().all(|other| similarity(&other.stems, &candidate.stems) < 0.6);
        if new && kept.len() < limit {
            kept.push(candidate);
        }
    }
    let mut places: Vec<usize> = kept.into_iter().map(|candidate| candidate.place).collect();
    places.sort_unstable();
    places
}

/// The sentences that say something, the best by frequency when there are many.
fn candidates(
    sentences: &[Sentence<'_>],
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = sentences
        .iter()
        .enumerate()
        .filter_map(|(place, sentence)| candidate(place, &sentence.text, frequency, language))
        .collect();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.place.cmp(&b.place)));
    all.truncate(CANDIDATES);
    all
}

fn candidate(
    place: usize,
    text: &str,
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Option<Candidate> {
    let stems: BTreeSet<String> = language.content_stems(text).into_iter().collect();
    if stems.len() < 2 {
        return None;
    }
    let said: f64 = stems.iter().filter_map(|stem| frequency.get(stem)).map(|count| 1.0 + count.ln()).sum();
    let cue = if CUE.is_match(text) { 1.3 } else { 1.0 };
    let question = if text.ends_with('?') { 0.5 } else { 1.0 };
    let short = if stems.len() < 4 { 0.7 } else { 1.0 };
    Some(Candidate { place, weight: said / (stems.len() as f64).sqrt() * cue * question * short, stems })
}

/// TextRank over the candidates, started from and pulled towards their own weights.
fn ranks(candidates: &[Candidate]) -> Vec<f64> {
    let edges: Vec<Vec<(usize, f64)>> = candidates
        .iter()
        .map(|candidate| {
            let others = candidates.iter().enumerate().filter(|(_, other)| other.place != candidate.place);
            others
                .map(|(at, other)| (at, similarity(&candidate.stems, &other.stems)))
                .filter(|(_, weight)| *weight > 0.0)
                .collect()
        })
        .collect();
    let out: Vec<f64> = edges.iter().map(|row| row.iter().map(|(_, weight)| weight).sum()).collect();
    let of = |values: &[f64], at: usize| values.get(at).copied().unwrap_or_default();
    let mut ranks: Vec<f64> = vec![1.0; candidates.len()];
    for _ in 0..ROUNDS {
        ranks = edges
            .iter()
            .zip(candidates)
            .map(|(row, candidate)| {
                let flow: f64 =
                    row.iter().map(|(other, weight)| of(&ranks, *other) * weight / of(&out, *other)).sum();
                (1.0 - DAMPING) * candidate.weight + DAMPING * flow
            })
            .collect();
    }
    ranks.iter().zip(candidates).map(|(rank, candidate)| rank * candidate.weight).collect()
}

fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count() as f64;
    if shared == 0.0 { 0.0 } else { shared / (1.0 + (a.len() as f64).ln() + (b.len() as f64).ln()) }
}

#[cfg(test)]
mod tests {
    use super::super::phrases::frequencies;
    use super::*;

    fn sentence(text: String) -> Sentence<'static> {
        Sentence { text, speaker: None, is_user: false, line: 0 }
    }

    #[test]
    fn however_long_a_talk_is_only_so_many_sentences_are_compared() {
        let many: Vec<_> = (0..5_000)
            .map(|n| sentence(format!("The harbour of island {n} needs boats and {n} sailors.")))
            .collect();
        let frequency = frequencies(&many, Language::English);
        assert_eq!(candidates(&many, &frequency, Language::English).len(), CANDIDATES);
        assert!(chosen(&many, &frequency, Language::English).len() <= 5);
    }

    #[test]
    fn openings_are_stripped_and_ends_are_closed() {
        assert_eq!(plain("okay, so, we moved the launch"), "We moved the launch.");
        assert_eq!(plain("Yes!"), "Yes!");
        assert_eq!(plain("No, tablets are fine"), "Tablets are fine.");
        assert_eq!(plain("No tablet after five"), "No tablet after five.");
    }
}
