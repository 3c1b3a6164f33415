//! What labelled sentences taught: how likely it is that a sentence names a task, an event or a lasting fact.
//!
//! Rules find what they were written for. How people put the rest has no end of forms, so a linear model weighs the words
//! of a sentence, their order, and the sentences beside it. It was trained on the sentences of `corpus/taught`, and its
//! weights stand in `model/weights.bin`: signed bytes, one for each label of each hashed feature, of which
//! the sum in [`UNIT`]s is the logarithm of the odds. The module `training` makes them, and a test holds that they are made of those sentences.

pub(super) mod features;

use super::text::Sentence;

/// How many features there are: as many as their hashes tell apart.
pub(super) const FEATURES: usize = 1 << 16;
/// What a sentence may name, in the order of the weights.
pub(super) const LABELS: usize = 3;
/// A weight of one.
pub(super) const UNIT: f32 = 1.0 / 32.0;

static WEIGHTS: &[u8] = include_bytes!("../../../model/weights.bin");

/// What a sentence may name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Task,
    Event,
    Fact,
}

/// The logarithm of the odds that each of `sentences` names a task: above 0 it is more likely than not. `rules` tells what
/// rules read in each.
pub(super) fn tasks(sentences: &[Sentence<'_>], rules: &[&str]) -> Vec<f32> {
    let read = features::read(sentences);
    let of = |(at, rule)| {
        let mut features = features::of(&read, at);
        features.extend(features::of_rule(&read, at, rule));
        sum(&features, Named::Task)
    };
    rules.iter().copied().enumerate().map(of).collect()
}

/// The same of events and facts.
pub(super) fn odds(sentences: &[Sentence<'_>], named: Named) -> Vec<f32> {
    let read = features::read(sentences);
    (0..read.len()).map(|at| sum(&features::of(&read, at), named)).collect()
}

fn sum(features: &[usize], named: Named) -> f32 {
    let weight =
        |feature: &usize| WEIGHTS.get(feature * LABELS + named as usize).map_or(0, |byte| byte.cast_signed());
    let sum: i32 = features.iter().map(|feature| i32::from(weight(feature))).sum();
    let most = i32::from(i16::MAX);
    f32::from(i16::try_from(sum.clamp(-most, most)).unwrap_or_default()) * UNIT
}
