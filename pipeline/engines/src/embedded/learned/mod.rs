//! What labelled talks taught: whether a sentence names a task, an event or a lasting fact; what a talk is about; what belongs in its
//! title.
//!
//! Rules and word lists find what they were written for. How people put the rest has no end of forms, so linear models weigh what
//! is said. They were trained on the conversations of `corpus/taught`, and the module `training` makes their tables of them. The
//! sum of the weights is the logarithm of the odds.

pub(super) mod features;
mod sentences;
pub(super) mod subjects;

use features::Feature;

pub(super) use sentences::{LABELS, Named, Weighed};

/// A weight of one.
pub(super) const UNIT: f32 = 1.0 / 32.0;

/// The weights of features: a hash table without deletions (linear probing), whose slots hold 16 bits of a feature's hash, by which
/// it is known again, and a signed byte for each label, in [`UNIT`]s. What was seen too seldom is not in it and weighs nothing.
pub(super) struct Table {
    bytes: &'static [u8],
    labels: usize,
}

pub(super) static SENTENCES: Table =
    Table { bytes: include_bytes!("../../../model/sentences.bin"), labels: LABELS };
pub(super) static SUBJECTS: Table =
    Table { bytes: include_bytes!("../../../model/subjects.bin"), labels: records::Category::ALL.len() };
pub(super) static TITLES: Table = Table { bytes: include_bytes!("../../../model/titles.bin"), labels: 1 };

impl Table {
    /// The logarithm of the odds of `label`.
    pub(super) fn odds(&self, features: &[Feature], label: usize) -> f32 {
        let weights = features.iter().filter_map(|feature| self.weights(*feature)?.get(label));
        weights.map(|byte| f32::from(byte.cast_signed())).sum::<f32>() * UNIT
    }

    /// Those of all labels.
    pub(super) fn all_odds(&self, features: &[Feature]) -> Vec<f32> {
        let mut sums = vec![0.0; self.labels];
        for weights in features.iter().filter_map(|feature| self.weights(*feature)) {
            sums.iter_mut().zip(weights).for_each(|(sum, byte)| *sum += f32::from(byte.cast_signed()) * UNIT);
        }
        sums
    }

    /// The bytes of `feature`, one for each label; `None` if it has none.
    fn weights(&self, feature: Feature) -> Option<&'static [u8]> {
        let slot = slot(self.labels);
        let (known, start) = place(feature, self.bytes.len() / slot);
        let (before, after) = self.bytes.split_at(start * slot);
        let mut slots = after.chunks_exact(slot).chain(before.chunks_exact(slot));
        let found = slots.find(|slot| slot.starts_with(&EMPTY) || slot.starts_with(&known))?;
        found.strip_prefix(&known)
    }
}

/// The bytes of a slot.
pub(super) const fn slot(labels: usize) -> usize {
    EMPTY.len() + labels
}

/// How a slot begins that holds nothing.
pub(super) const EMPTY: [u8; 2] = [0; 2];

/// How the slot of `feature` begins, and from which of `slots` on it is looked for.
pub(super) fn place(feature: Feature, slots: usize) -> ([u8; 2], usize) {
    let known = (feature as u16).max(1);
    (known.to_le_bytes(), (feature >> 32) as usize % slots)
}
