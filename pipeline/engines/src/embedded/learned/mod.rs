//! What labelled sentences taught: how likely it is that a sentence names a task, an event or a lasting fact.
//!
//! Rules find what they were written for. How people put the rest has no end of forms, so a linear model weighs the words
//! of a sentence, their order, and the sentences beside it. It was trained on the sentences of `corpus/taught`, and the
//! module `training` makes `model/weights.bin` of them: a hash table without deletions (linear probing), whose slots hold
//! 16 bits of a feature's hash, by which it is known again, and a signed byte for each label. What was seen in too
//! few sentences is not in it and weighs nothing. The sum of the bytes in [`UNIT`]s is the logarithm of the odds.

pub(super) mod features;

use features::Feature;

use super::text::Sentence;

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

fn sum(features: &[Feature], named: Named) -> f32 {
    let weights = features.iter().filter_map(|feature| weights(*feature)?.get(named as usize));
    weights.map(|byte| f32::from(byte.cast_signed())).sum::<f32>() * UNIT
}

/// The bytes of `feature`, one for each label; `None` if it has none.
fn weights(feature: Feature) -> Option<&'static [u8]> {
    let (known, start) = place(feature, WEIGHTS.len() / SLOT);
    let (before, after) = WEIGHTS.split_at(start * SLOT);
    let mut slots = after.chunks_exact(SLOT).chain(before.chunks_exact(SLOT));
    let found = slots.find(|slot| slot.starts_with(&EMPTY) || slot.starts_with(&known))?;
    found.strip_prefix(&known)
}

/// The bytes of a slot.
pub(super) const SLOT: usize = 2 + LABELS;
/// How a slot begins that holds nothing.
pub(super) const EMPTY: [u8; 2] = [0; 2];

/// How the slot of `feature` begins, and from which of `slots` on it is looked for.
pub(super) fn place(feature: Feature, slots: usize) -> ([u8; 2], usize) {
    let known = (feature as u16).max(1);
    (known.to_le_bytes(), (feature >> 32) as usize % slots)
}
