//! Values that JSON can write and that no field of ours can hold.

use std::collections::HashMap;

use super::report::Step;

/// What is odd about a value, or in it. In its place stands one that can be held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Odd {
    /// A number beyond 64-bit floats, or none at all; in its place stands the outermost float.
    Number,
    /// A text with half of a surrogate pair; in its place stands U+FFFD.
    Text,
    /// Something inside.
    Inside(HashMap<Step, Odd>),
}

impl Odd {
    /// What is odd about the value at a place, seen from here.
    pub(crate) fn at(&self, position: &[Step]) -> Option<&Self> {
        position.iter().try_fold(self, |odd, step| match odd {
            Self::Inside(values) => values.get(step),
            Self::Number | Self::Text => None,
        })
    }
}
