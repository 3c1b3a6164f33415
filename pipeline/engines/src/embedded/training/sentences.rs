//! What sentences name.

use super::super::dates::{DayOrder, Reference};
use super::super::items;
use super::super::learned::{LABELS, features};
use super::super::text::{Sentence, sentences};
use super::{Example, Taught, assert_kept, parts, taught};

/// The sentences of each talk.
fn examples() -> Vec<Vec<Example>> {
    taught().iter().map(of).collect()
}

fn of(taught: &Taught) -> Vec<Example> {
    let all: Vec<Sentence<'_>> = sentences(&taught.talk, true);
    let read = features::read(&all);
    let rules = items::kinds(&all, &Reference::of(&taught.talk, DayOrder::default()));
    let example = |at: usize, sentence: &Sentence<'_>| {
        let alone = all.iter().filter(|other| other.line == sentence.line).count() == 1;
        let names = taught.labels[sentence.line];
        // Which part of a line names it, the label does not say.
        (alone || names == [false; LABELS]).then(|| Example {
            features: features::of(&read, at),
            of_first: features::of_rule(&read, at, rules[at]),
            known: Vec::new(),
            names: names.to_vec(),
        })
    };
    all.iter().enumerate().filter_map(|(at, sentence)| example(at, sentence)).collect()
}

#[test]
fn weights_are_those_that_the_taught_sentences_give() {
    assert_kept("sentences.bin", examples().iter().flatten());
}

/// Prints, by parts that were left out of the training, how many of the labelled sentences are found at which precision.
#[test]
#[ignore = "a report"]
fn report() {
    let talks = examples();
    let mut scored: [Vec<(f32, bool)>; LABELS] = Default::default();
    for (weights, left_out) in parts(&talks, Vec::as_slice) {
        for example in left_out.into_iter().flatten() {
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
