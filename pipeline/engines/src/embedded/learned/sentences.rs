//! What a sentence may name.

use super::super::text::Sentence;
use super::{SENTENCES, features};

/// What a sentence may name, in the order of the weights.
pub(in crate::embedded) const LABELS: usize = 3;

/// What a sentence may name.
#[derive(Clone, Copy, Debug)]
pub(in crate::embedded) enum Named {
    Task,
    Event,
    Fact,
}

/// The sentences of a talk, read to be weighed.
pub(in crate::embedded) struct Weighed<'t>(Vec<features::Read<'t>>);

impl<'t> Weighed<'t> {
    pub(in crate::embedded) fn of(sentences: &[Sentence<'t>]) -> Self {
        Self(features::read(sentences))
    }

    /// The logarithm of the odds that the sentence at `at` names something: above 0 it is more likely than not.
    pub(in crate::embedded) fn odds(&self, at: usize, named: Named) -> f32 {
        SENTENCES.odds(&features::of(&self.0, at), named as usize)
    }

    /// That it names a task, where the rules read `rule` in it.
    pub(in crate::embedded) fn odds_of_task(&self, at: usize, rule: &str) -> f32 {
        self.odds(at, Named::Task)
            + SENTENCES.odds(&features::of_rule(&self.0, at, rule), Named::Task as usize)
    }
}
