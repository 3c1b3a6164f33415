//! Part of a request that has a name of its own in the document.

use serde_json::{Value, json};

use super::takes::{Note, annotate};
use crate::read::{COMPONENT, Report, SCHEMA, Take};

/// What is read as `take` reads it, and stands in the document under `name`.
pub(crate) struct Named<T> {
    /// The name of the component.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) words: &'static str,
    /// Words for its fields.
    pub(crate) notes: &'static [Note],
    /// How it is read.
    pub(crate) take: T,
}

/// A closed list of words under a name.
pub(crate) fn named<T: Take>(name: &'static str, words: &'static str, take: T) -> Named<T> {
    Named { name, words, notes: &[], take }
}

impl<T: Take> Take for Named<T> {
    type Out = T::Out;

    fn take(&self, value: &Value, report: &mut Report) -> Option<T::Out> {
        self.take.take(value, report)
    }

    fn schema(&self) -> Value {
        let mut schema = self.take.schema();
        annotate(&mut schema, self.notes);
        schema["description"] = self.words.into();
        json!({ COMPONENT: self.name, SCHEMA: schema })
    }
}
