//! The overview: the sentences that say most, in their order.
//!
//! TextRank compares every sentence with every other; here only the [`CANDIDATES`] best by frequency
//! are compared, so that the work grows with the length of the talk and not with its square.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use chrono_tz::Tz;
use records::{Timestamp, is_unspaced};
use stages::{EventDraft, ItemDraft};

use super::decisions::is_decision;
use super::language::Language;
use super::pattern::Pattern;
use super::phrases::Phrase;
use super::reported::{self, Tellers};
use super::text::{Sentence, capitalised, content_stems, decapitalised, pattern, shortened};

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
            (?:uh|um|er|so|well|okay|ok|yeah|yep|oh|and|but|anyway|by\ the\ way|btw|also|hey|hi|hm+|ah|aha|lol|haha|you\ know|i\ mean|note\ to\ self)\b[,.!]*\s*
          | (?:yes|no|nope|now|then|right|alright|sure|great|good|fine|thanks|sounds\ good|ha|wow|cool|perfect|exactly|lovely|i\ see)\b\s*[,.!]+\s*
        )+",
    )
});

/// What greets, asks or answers, and tells little by itself.
static GREETING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:hello|hi|hey|good\s+(?:morning|afternoon|evening)|morning|thank\s+you\s+for|thanks\s+for|i\s+know|that's\s+right|delete\s+it|who(?:'d|'s|\s+ate)?|what\s+about|gather\s+round|listen|guess|next\s+please)\b",
    )
});

struct Candidate {
    place: usize,
    stems: BTreeSet<String>,
    weight: f64,
}

/// What is to come: tasks and events, with their days in the person's time zone.
pub(super) struct Next {
    pub(super) items: Vec<ItemDraft>,
    pub(super) events: Vec<EventDraft>,
    pub(super) zone: Tz,
}

/// How much more a stem counts that is in a task or in an event, up to [`TOLD`] of each.
const IN_TASK: f64 = 0.5;
const IN_EVENT: f64 = 1.5;
/// How many tasks, and how many events, an overview tells.
const TOLD: usize = 3;

impl Next {
    /// The stems of tasks and events, and how much each says of what the talk is about.
    pub(super) fn stems(&self) -> BTreeMap<String, f64> {
        let items = self
            .items
            .iter()
            .map(|item| (item.description.split_once(' ').map_or("", |(_, object)| object), IN_TASK));
        let events = self.events.iter().map(|event| (event.title.as_str(), IN_EVENT));
        let mut stems = BTreeMap::new();
        for (text, more) in items.chain(events) {
            for stem in content_stems(text) {
                let known: &mut f64 = stems.entry(stem).or_default();
                *known = (*known + more).min(2.5);
            }
        }
        stems
    }

    /// "Next: pay the rent by 3 December; call Tom (Ada)."
    fn stated(&self) -> Vec<String> {
        let day = |moment: Timestamp| moment.with_timezone(&self.zone).format("%-d %B").to_string();
        let tasks: Vec<String> = self
            .items
            .iter()
            .take(TOLD)
            .map(|item| {
                let owner = item
                    .owner
                    .as_deref()
                    .filter(|owner| !owner.contains(|c: char| c.is_ascii_digit() || c == '_'));
                let owner = owner.map_or_else(String::new, |owner| format!(" ({})", capitalised(owner)));
                let due = item.due_at.map_or_else(String::new, |due| format!(" by {}", day(due)));
                format!("{}{due}{owner}", decapitalised(&item.description))
            })
            .collect();
        let more = self.items.len().saturating_sub(TOLD);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let mut events: Vec<&EventDraft> = self.events.iter().take(TOLD).collect();
        events.sort_by_key(|event| event.start);
        let events: Vec<String> =
            events.into_iter().map(|event| format!("{} on {}", event.title, day(event.start))).collect();
        let mut told = Vec::new();
        if !tasks.is_empty() {
            told.push(format!("Next: {}{more}.", tasks.join("; ")));
        }
        if !events.is_empty() {
            told.push(format!("Coming up: {}.", events.join("; ")));
        }
        told
    }

    /// Whether a sentence repeats what "Next" and "Coming up" say.
    fn tells(&self, stems: &BTreeSet<String>) -> bool {
        self.items.iter().take(TOLD).any(|item| {
            let object = content_stems(&item.description);
            object.len() > 1 && object.iter().all(|stem| stems.contains(stem))
        })
    }
}

/// The topic in the sentences that say most of it, what was decided, and what is next.
/// `frequency` says how often each stem is said.
pub(super) fn overview(
    sentences: &[Sentence<'_>],
    next: &Next,
    topics: &[Phrase],
    frequency: &HashMap<String, f64>,
    language: Language,
) -> String {
    let subject = reported::subject(sentences, topics).filter(|_| language.is_english());
    let places = chosen(sentences, next, frequency, language, subject.is_some());
    let said = places.into_iter().filter_map(|place| sentences.get(place));
    let Some(subject) = subject else {
        return in_a_row(said.map(|sentence| plain(&sentence.text)).chain(next.stated()));
    };
    let mut tellers = Tellers::default();
    let told: Vec<String> = said
        .filter_map(|sentence| reported::in_third_person(&plain(&sentence.text), || tellers.teller(sentence)))
        .collect();
    let next = next.stated().into_iter().map(|next| reported::of_others(&next));
    std::iter::once(subject).chain(told).chain(next).collect::<Vec<_>>().join(" ")
}

/// What a sentence ends with.
const STOPS: [char; 13] = ['.', '!', '?', '…', '。', '！', '？', '｡', '।', '॥', '؟', '۔', '։'];
/// Behind these stands no space.
const WIDE_STOPS: [char; 3] = ['。', '！', '？'];

/// Sentences, one after the other.
fn in_a_row(sentences: impl Iterator<Item = String>) -> String {
    sentences.fold(String::new(), |mut text, sentence| {
        if !text.is_empty() && !text.ends_with(WIDE_STOPS) {
            text.push(' ');
        }
        text + &sentence
    })
}

/// The first sentences of a talk, as they are.
pub(super) fn opening(sentences: &[Sentence<'_>]) -> String {
    shortened(&in_a_row(sentences.iter().take(3).map(|sentence| plain(&sentence.text))), LONGEST)
}

/// A sentence without its opening fillers, with a capital and a full stop.
pub(super) fn plain(sentence: &str) -> String {
    // On the telephone, "..." is what the other says.
    let sentence = sentence.trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace());
    let bare = OPENING.replace(sentence, "");
    let bare = if bare.split_whitespace().count() < 2 { sentence } else { bare.as_ref() };
    let text = capitalised(&shortened(bare.trim(), LONGEST));
    // Thai has no stops, and a text that was cut has none of its script.
    if text.ends_with(STOPS) || text.ends_with(is_unspaced) {
        text
    } else {
        format!("{}.", text.trim_end_matches([',', ';', ':']))
    }
}

/// The places of the best sentences, in order; two to four, by the length of the talk, and what was decided.
fn chosen(
    sentences: &[Sentence<'_>],
    next: &Next,
    frequency: &HashMap<String, f64>,
    language: Language,
    reported: bool,
) -> Vec<usize> {
    let mut candidates = candidates(sentences, next, frequency, language);
    // A summary of a conversation is in the third person, so sentences that cannot be rewritten so are left out.
    if reported {
        candidates.retain(|candidate| {
            let sentence = sentences.get(candidate.place);
            sentence.is_some_and(|said| reported::in_third_person(&plain(&said.text), String::new).is_some())
        });
    }
    let mut ranked: Vec<(f64, &Candidate)> = ranks(&candidates).into_iter().zip(&candidates).collect();
    ranked.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.place.cmp(&other.place)));
    let limit = (2 + sentences.len() / 10).clamp(2, 4) + usize::from(next.items.is_empty());
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
    next: &Next,
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = sentences
        .iter()
        .enumerate()
        .filter_map(|(place, sentence)| candidate(place, &sentence.text, next, frequency, language))
        .collect();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.place.cmp(&b.place)));
    all.truncate(CANDIDATES);
    all
}

fn candidate(
    place: usize,
    text: &str,
    next: &Next,
    frequency: &HashMap<String, f64>,
    language: Language,
) -> Option<Candidate> {
    let stems: BTreeSet<String> = language.content_stems(text).into_iter().collect();
    if stems.len() < 2 {
        return None;
    }
    let said: f64 = stems.iter().filter_map(|stem| frequency.get(stem)).map(|count| 1.0 + count.ln()).sum();
    let cue = if CUE.is_match(text) { 1.3 } else { 1.0 };
    let question = if text.ends_with(['?', '？', '؟']) || GREETING.is_match(text) { 0.3 } else { 1.0 };
    let short = if stems.len() < 4 { 0.7 } else { 1.0 };
    let decided = if is_decision(text) { 1.8 } else { 1.0 };
    let repeated = if next.tells(&stems) { 0.3 } else { 1.0 };
    Some(Candidate {
        place,
        weight: said / (stems.len() as f64).sqrt() * cue * question * short * decided * repeated,
        stems,
    })
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
        let next = Next { items: Vec::new(), events: Vec::new(), zone: Tz::UTC };
        assert_eq!(candidates(&many, &next, &frequency, Language::English).len(), CANDIDATES);
        assert!(chosen(&many, &next, &frequency, Language::English, false).len() <= 5);
    }

    #[test]
    fn openings_are_stripped_and_ends_are_closed() {
        assert_eq!(plain("okay, so, we moved the launch"), "We moved the launch.");
        assert_eq!(plain("Yes!"), "Yes!");
        assert_eq!(plain("No, tablets are fine"), "Tablets are fine.");
        assert_eq!(plain("No tablet after five"), "No tablet after five.");
    }
}
