//! Values that JSON can write and that no field of ours can hold.

use std::collections::HashMap;

use crate::error::Step;

/// What makes a value unrepresentable; a representable one replaces it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unrepresentable {
    /// A number beyond 64-bit floats, or none at all; in its place stands the outermost float.
    Number,
    /// A text with half of a surrogate pair; in its place stands U+FFFD.
    Text,
    /// Something inside.
    Inside(HashMap<Step, Unrepresentable>),
}

impl Unrepresentable {
    /// The unrepresentable part at a position, relative to this value.
    pub(crate) fn at(&self, position: &[Step]) -> Option<&Self> {
        position.iter().try_fold(self, |unrepresentable, step| match unrepresentable {
            Self::Inside(values) => values.get(step),
            Self::Number | Self::Text => None,
        })
    }
}
