//! What labelled sentences taught: how likely it is that a sentence names a task, an event or a lasting fact.
//!
//! Rules find what they were written for. How people put the rest has no end of forms, so a linear model weighs the words
//! of a sentence, their order, and the sentences beside it. It was trained on the sentences of `corpus/taught`, and its
//! weights stand in `model/weights.bin`: signed bytes, one for each label of each hashed feature, of which
//! the sum in [`UNIT`]s is the logarithm of the odds. The module `training` makes them, and a test
//! checks that they are what those sentences give.

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

/// The sentences of a talk, read to be weighed.
pub(super) struct Weighed<'t>(Vec<features::Read<'t>>);

impl<'t> Weighed<'t> {
    pub(super) fn of(sentences: &[Sentence<'t>]) -> Self {
        Self(features::read(sentences))
    }

    /// The logarithm of the odds that the sentence at `at` names something: above 0 it is more likely than not.
    pub(super) fn odds(&self, at: usize, named: Named) -> f32 {
        sum(&features::of(&self.0, at), named)
    }

    /// That it names a task, where the rules read `rule` in it.
    pub(super) fn odds_of_task(&self, at: usize, rule: &str) -> f32 {
        self.odds(at, Named::Task) + sum(&features::of_rule(&self.0, at, rule), Named::Task)
    }
}

fn sum(features: &[usize], named: Named) -> f32 {
    let weight =
        |feature: &usize| WEIGHTS.get(feature * LABELS + named as usize).map_or(0, |byte| byte.cast_signed());
    features.iter().map(|feature| f32::from(weight(feature))).sum::<f32>() * UNIT
}
