//! What a reader takes, with the words that a reader cannot know.

use serde_json::{Value, json};

use crate::read::{FieldSchema, Fields, Note, RequestSchema, annotate};

/// The words for `cursor` of every list that has one.
pub(crate) const CURSOR: Note = (
    "cursor",
    "Go on after the last row of a page: the `Link` header of that page gives it, with `rel=\"next\"`. It repeats and misses \
     nothing when rows are added meanwhile; `offset` then counts for nothing.",
    "",
);

/// The fields of a query or a body.
#[derive(Clone, Debug)]
pub(crate) struct Takes {
    request: RequestSchema,
    notes: &'static [Note],
}

/// Asks a reader which fields it takes, and puts words to them.
pub(crate) fn takes<T>(read: impl FnOnce(&mut Fields<'_>) -> Option<T>, notes: &'static [Note]) -> Takes {
    Takes::new(RequestSchema::of(read), notes)
}

impl Takes {
    /// Puts words to the fields of a request.
    pub(crate) fn new(request: RequestSchema, notes: &'static [Note]) -> Self {
        Self { request, notes }
    }

    /// As the schema of a body.
    pub(crate) fn schema(&self) -> Value {
        let mut schema = self.request.schema();
        annotate(&mut schema, self.notes);
        schema
    }

    /// As query parameters.
    pub(crate) fn parameters(&self) -> Vec<Value> {
        let schema = self.schema();
        let parameter = |field: &FieldSchema| {
            let mut schema = schema["properties"][field.name].clone();
            let words = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({
                "name": field.name, "in": "query", "required": field.required,
                "description": words, "schema": schema,
            })
        };
        self.request.fields().iter().map(parameter).collect()
    }

    /// Fields without words, and words without a field: both are mistakes.
    #[cfg(test)]
    pub(crate) fn mistakes(&self) -> Vec<String> {
        use crate::read::SCHEMA;

        let schema = self.schema();
        let kinds = schema["oneOf"].as_array().into_iter().flatten().map(|kind| &kind[SCHEMA]);
        let objects: Vec<&Value> = kinds.chain([&schema]).collect();
        let is_known = |name: &str| objects.iter().any(|object| object["properties"].get(name).is_some());
        let unknown = self.notes.iter().filter(|note| !is_known(note.0));
        let unknown: Vec<String> = unknown.map(|note| format!("{} is no field", note.0)).collect();
        let fields = objects.iter().filter_map(|object| object["properties"].as_object()).flatten();
        let forgotten = fields.filter(|(_, field)| field["description"].as_str().unwrap_or("").is_empty());
        let forgotten: Vec<String> = forgotten.map(|(name, _)| format!("{name} has no words")).collect();
        [forgotten, unknown].concat()
    }
}
