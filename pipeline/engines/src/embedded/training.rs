//! How the weights are made: logistic regression by AdaGrad over the sentences of `corpus/taught`, in a fixed order.

#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "tests")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use records::{Line, Talk};

use super::dates::{DayOrder, Reference};
use super::items;
use super::learned::features::{self, Feature};
use super::learned::{EMPTY, LABELS, SLOT, UNIT, place};
use super::text::{Sentence, sentences};

/// How often each sentence is looked at. More rounds learn the sentences by heart.
const ROUNDS: usize = 5;
/// In how many sentences a feature is seen that is learned.
const SEEN: usize = 3;
/// How far one sentence moves a weight.
const STEP: f32 = 0.05;

/// The features of a sentence, and what it names.
struct Example {
    features: Vec<Feature>,
    /// What the rules read of tasks.
    of_rules: Vec<Feature>,
    names: [bool; LABELS],
}

impl Example {
    /// What is weighed for a label: what rules read of tasks, for tasks alone.
    fn features(&self, label: usize) -> impl Iterator<Item = Feature> {
        self.features.iter().chain(self.of_rules.iter().filter(move |_| label == 0)).copied()
    }

    fn sum(&self, weights: &Weights, label: usize) -> f32 {
        self.features(label).filter_map(|feature| weights.get(&feature)).map(|weight| weight[label].by).sum()
    }
}

/// What a feature weighs for each label.
type Weights = HashMap<Feature, [Weight; LABELS]>;

#[derive(Clone, Copy)]
struct Weight {
    by: f32,
    /// The sum of the squares of its errors.
    squares: f32,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The labelled conversations: lines of letters (T, E, M, or - for none), and what is said.
fn conversations() -> Vec<Vec<Example>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("corpus/taught")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    text.split("\n# ").map(conversation).filter(|examples| !examples.is_empty()).collect()
}

fn conversation(text: &str) -> Vec<Example> {
    let (mut lines, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let Some((names, said)) = line.split_once(' ') else { continue };
        assert!(names.chars().all(|name| "TEM-".contains(name)), "a label: {line}");
        let spoken = said.split_once(": ").filter(|(who, _)| who.split(' ').count() <= 3 && who.len() < 25);
        let (speaker, said) = spoken.map_or((None, said), |(who, said)| (Some(who.to_owned()), said));
        lines.push(Line { speaker, text: said.to_owned(), is_user: false });
        labels.push(["T", "E", "M"].map(|name| names.contains(name)));
    }
    let talk = Talk { lines, ..super::tests::talk("") };
    let all: Vec<Sentence<'_>> = sentences(&talk);
    let read = features::read(&all);
    let rules = items::kinds(&all, &Reference::of(&talk, DayOrder::default()));
    let example = |at: usize, sentence: &Sentence<'_>| {
        let alone = all.iter().filter(|other| other.line == sentence.line).count() == 1;
        let names = labels[sentence.line];
        // Which part of a line names it, the label does not say.
        (alone || names == [false; LABELS]).then(|| Example {
            features: features::of(&read, at),
            of_rules: features::of_rule(&read, at, rules[at]),
            names,
        })
    };
    all.iter().enumerate().filter_map(|(at, sentence)| example(at, sentence)).collect()
}

/// The weights that `examples` teach.
fn trained<'e>(examples: impl Iterator<Item = &'e Example>) -> Weights {
    let examples: Vec<&Example> = examples.collect();
    let mut seen: HashMap<Feature, usize> = HashMap::new();
    for example in &examples {
        let features: HashSet<Feature> = example.features(0).collect();
        features.into_iter().for_each(|feature| *seen.entry(feature).or_default() += 1);
    }
    let new = [Weight { by: 0.0, squares: 1e-3 }; LABELS];
    let mut weights: Weights =
        seen.into_iter().filter(|(_, seen)| *seen >= SEEN).map(|(feature, _)| (feature, new)).collect();
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut seed = 1_u64;
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, (seed >> 33) as usize % (at + 1));
        }
        for &at in &order {
            let example = examples[at];
            for label in 0..LABELS {
                let truth = if example.names[label] { 1.0 } else { 0.0 };
                let error = 1.0 / (1.0 + (-example.sum(&weights, label)).exp()) - truth;
                for feature in example.features(label) {
                    let Some(weight) = weights.get_mut(&feature) else { continue };
                    weight[label].squares += error * error;
                    weight[label].by -= STEP * error / weight[label].squares.sqrt();
                }
            }
        }
    }
    weights
}

/// The table of `weights`, filled to two thirds.
fn packed(weights: &Weights) -> Vec<u8> {
    let byte = |weight: &Weight| ((weight.by / UNIT).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
    let mut features: Vec<Feature> = weights.keys().copied().collect();
    features.sort_unstable();
    let slots = features.len() * 3 / 2;
    let mut table = vec![0; slots * SLOT];
    for feature in features {
        let (known, mut slot) = place(feature, slots);
        while !table[slot * SLOT..].starts_with(&EMPTY) {
            slot = (slot + 1) % slots;
        }
        let bytes = known.into_iter().chain(weights[&feature].iter().map(byte));
        table.splice(slot * SLOT..(slot + 1) * SLOT, bytes);
    }
    table
}

#[test]
fn weights_are_those_that_the_taught_sentences_give() {
    let conversations = conversations();
    let made = packed(&trained(conversations.iter().flatten()));
    let path = root().join("model/weights.bin");
    if std::env::var_os("LISTEN_TRAIN").is_some() {
        fs::write(&path, &made).unwrap();
        return;
    }
    let kept = fs::read(&path).unwrap();
    let off = kept
        .iter()
        .zip(&made)
        .filter(|(kept, made)| kept.cast_signed().abs_diff(made.cast_signed()) > 1)
        .count();
    assert!(
        kept.len() == made.len() && off < 20,
        "{off} weights are others: run this test with LISTEN_TRAIN=1"
    );
}

/// Prints, by parts that were left out of the training, how many of the labelled sentences are found at which precision.
#[test]
#[ignore = "a report"]
fn report() {
    let conversations = conversations();
    let mut scored: [Vec<(f32, bool)>; LABELS] = Default::default();
    for part in 0..5 {
        let kept = |at: &usize| at % 5 != part;
        let train = conversations.iter().enumerate().filter(|(at, _)| kept(at)).flat_map(|(_, all)| all);
        let weights = trained(train);
        for example in conversations.iter().enumerate().filter(|(at, _)| !kept(at)).flat_map(|(_, all)| all) {
            for (label, scored) in scored.iter_mut().enumerate() {
                scored.push((example.sum(&weights, label), example.names[label]));
            }
        }
    }
    for (label, name) in ["task", "event", "fact"].into_iter().enumerate() {
        let all = &mut scored[label];
        all.sort_by(|one, other| other.0.total_cmp(&one.0));
        let total = all.iter().filter(|(_, is)| *is).count();
        let loss: f64 =
            all.iter().map(|(sum, is)| (1.0 + (if *is { -sum } else { *sum }).exp()).ln() as f64).sum();
        println!("{name}: {total} of {} loss {:.4}", all.len(), loss / all.len() as f64);
        for wanted in [0.95, 0.9, 0.88, 0.85, 0.8, 0.75, 0.7] {
            let (mut hits, mut best) = (0, (0, 0.0));
            for (at, (sum, is)) in all.iter().enumerate() {
                hits += usize::from(*is);
                if hits as f64 >= wanted * (at + 1) as f64 {
                    best = (hits, *sum);
                }
            }
            println!("  precision {wanted}: {:.2} at {:.2}", best.0 as f64 / total as f64, best.1);
        }
    }
}
