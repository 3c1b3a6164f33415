//! Part of a request that has a name of its own in the document.

use serde_json::{Value, json};

use super::{COMPONENT, Report, SCHEMA, Take};

/// A field's name, what it means, and its default as JSON (empty: none).
pub(crate) type Note = (&'static str, &'static str, &'static str);

/// What is read as `take` reads it, and stands in the document under `name`.
pub(crate) struct Named<T> {
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) words: &'static str,
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

/// Writes words and defaults into the schema of an object.
pub(crate) fn annotate(schema: &mut Value, notes: &[Note]) {
    for kind in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        annotate(&mut kind[SCHEMA], notes);
    }
    for (name, words, default) in notes {
        if let Some(field) = schema.get_mut("properties").and_then(|fields| fields.get_mut(name)) {
            field["description"] = (*words).into();
            if let Ok(default) = serde_json::from_str::<Value>(default) {
                field["default"] = default;
            }
        }
    }
}
