//! How the tables of weights are made: logistic regression by AdaGrad over the talks of `corpus/taught`, in a fixed order.
//!
//! `LISTEN_TRAIN=1 cargo test -p engines --lib training` writes them, in seconds and always alike. What sentences name is read before
//! subjects and titles are, so it is run again until nothing changes: three times after a change of sentences or their features.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, reason = "tests")]

mod sentences;
mod subjects;
mod titles;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use records::{Category, Line, Talk};

use super::learned::features::Feature;
use super::learned::{EMPTY, UNIT, place, slot};

/// How often each example is looked at. More rounds learn them by heart.
const ROUNDS: usize = 5;
/// In how many examples a feature is seen that is learned.
const SEEN: usize = 3;
/// How far one example moves a weight.
const STEP: f32 = 0.05;

/// What is learned from.
struct Example {
    features: Vec<Feature>,
    /// Those that speak for the first label alone.
    of_first: Vec<Feature>,
    /// What else speaks for each label; none is 0.
    known: Vec<f32>,
    /// Which labels it has.
    names: Vec<bool>,
}

impl Example {
    fn features(&self, label: usize) -> impl Iterator<Item = Feature> {
        self.features.iter().chain(self.of_first.iter().filter(move |_| label == 0)).copied()
    }

    fn sum(&self, weights: &Weights, label: usize) -> f32 {
        let sum: f32 = self.features(label).filter_map(|feature| weights.of(feature, label)).sum();
        self.known.get(label).copied().unwrap_or(0.0) + sum
    }
}

/// What each feature weighs for each label.
struct Weights {
    places: HashMap<Feature, usize>,
    labels: usize,
    all: Vec<Weight>,
}

#[derive(Clone, Copy)]
struct Weight {
    by: f32,
    /// The sum of the squares of its errors.
    squares: f32,
}

impl Weights {
    fn of(&self, feature: Feature, label: usize) -> Option<f32> {
        Some(self.all[self.places.get(&feature)? * self.labels + label].by)
    }
}

/// A conversation of `corpus/taught`: a head ("# who and where | categories | title"), and lines of letters (T, E, M, or - for none)
/// and what is said.
struct Taught {
    talk: Talk,
    /// What each line names.
    labels: Vec<[bool; 3]>,
    /// What it is about; who reads it may find a second subject as right.
    categories: Vec<Category>,
    title: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn taught() -> Vec<Taught> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("corpus/taught")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let talks = text.split("\n# ").map(|talk| talk.trim_start_matches("# "));
    talks.filter(|talk| !talk.is_empty()).map(read).collect()
}

fn read(text: &str) -> Taught {
    let (head, said) = text.split_once('\n').unwrap();
    let [_, categories, title] = head.split(" | ").collect::<Vec<_>>()[..] else { panic!("a head: {head}") };
    let category = |name| Category::from_name(name).unwrap_or_else(|| panic!("a category: {name}"));
    let (mut lines, mut labels) = (Vec::new(), Vec::new());
    for line in said.lines() {
        let Some((names, said)) = line.split_once(' ') else { continue };
        assert!(names.chars().all(|name| "TEM-".contains(name)), "a label: {line}");
        let spoken = said.split_once(": ").filter(|(who, _)| who.split(' ').count() <= 3 && who.len() < 25);
        let (speaker, said) = spoken.map_or((None, said), |(who, said)| (Some(who.to_owned()), said));
        lines.push(Line { speaker, text: said.to_owned(), is_user: false });
        labels.push(["T", "E", "M"].map(|name| names.contains(name)));
    }
    Taught {
        talk: Talk { lines, ..super::tests::talk("") },
        labels,
        categories: categories.split(',').map(category).collect(),
        title: title.to_owned(),
    }
}

/// The weights that `examples` teach.
fn trained<'e>(examples: impl Iterator<Item = &'e Example>) -> Weights {
    let examples: Vec<&Example> = examples.collect();
    let labels = examples[0].names.len();
    let mut seen: HashMap<Feature, usize> = HashMap::new();
    for example in &examples {
        let features: HashSet<Feature> = example.features(0).collect();
        features.into_iter().for_each(|feature| *seen.entry(feature).or_default() += 1);
    }
    let known = seen.into_iter().filter(|(_, seen)| *seen >= SEEN).map(|(feature, _)| feature);
    let places: HashMap<Feature, usize> = known.zip(0..).collect();
    let all = vec![Weight { by: 0.0, squares: 1e-3 }; places.len() * labels];
    let mut weights = Weights { places, labels, all };
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut seed = 1_u64;
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, (seed >> 33) as usize % (at + 1));
        }
        for &at in &order {
            let example = examples[at];
            for label in 0..labels {
                let truth = if example.names[label] { 1.0 } else { 0.0 };
                let error = 1.0 / (1.0 + (-example.sum(&weights, label)).exp()) - truth;
                for feature in example.features(label) {
                    let Some(place) = weights.places.get(&feature) else { continue };
                    let weight = &mut weights.all[place * labels + label];
                    weight.squares += error * error;
                    weight.by -= STEP * error / weight.squares.sqrt();
                }
            }
        }
    }
    weights
}

/// The table of `weights`, filled to two thirds.
fn packed(weights: &Weights) -> Vec<u8> {
    let byte = |weight: &Weight| ((weight.by / UNIT).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
    let mut features: Vec<Feature> = weights.places.keys().copied().collect();
    features.sort_unstable();
    let (slots, labels) = (features.len() * 3 / 2, weights.labels);
    let width = slot(labels);
    let mut table = vec![0; slots * width];
    for feature in features {
        let (known, mut slot) = place(feature, slots);
        while !table[slot * width..].starts_with(&EMPTY) {
            slot = (slot + 1) % slots;
        }
        let from = weights.places[&feature] * labels;
        let bytes = known.into_iter().chain(weights.all[from..from + labels].iter().map(byte));
        table.splice(slot * width..(slot + 1) * width, bytes);
    }
    table
}

/// The table in `file` is what `examples` teach.
fn assert_kept<'e>(file: &str, examples: impl Iterator<Item = &'e Example>) {
    let made = packed(&trained(examples));
    let path = root().join("model").join(file);
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
        "{off} weights of {file} are others: run this test with LISTEN_TRAIN=1"
    );
}

/// In five parts: the weights that all but the examples of a part teach, and those.
fn parts<E>(talks: &[E], examples: impl Fn(&E) -> &[Example]) -> Vec<(Weights, Vec<&E>)> {
    let of = |part: usize, is: bool| {
        talks.iter().enumerate().filter(move |(at, _)| (at % 5 == part) == is).map(|(_, talk)| talk)
    };
    (0..5).map(|part| (trained(of(part, false).flat_map(&examples)), of(part, true).collect())).collect()
}
