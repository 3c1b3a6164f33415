//! What a reader takes, with the words that a reader cannot know.

use serde_json::{Value, json};

use crate::read::Drawing;

/// A field's name, what it means, and its default as JSON (empty: none).
pub(crate) type Note = (&'static str, &'static str, &'static str);

/// The fields of a query or a body.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    drawing: Drawing,
    notes: &'static [Note],
    not_blank: &'static [&'static str],
}

impl Described {
    /// Puts words to the fields of a drawing. A field inside a field is named `outer.inner`.
    pub(crate) fn new(schema: Drawing, notes: &'static [Note]) -> Self {
        Self { drawing: schema, notes, not_blank: &[] }
    }

    /// These fields hold more than white space.
    pub(crate) fn not_blank(self, not_blank: &'static [&'static str]) -> Self {
        Self { not_blank, ..self }
    }

    /// As the schema of a body.
    pub(super) fn schema(&self) -> Value {
        let mut schema = self.drawing.schema();
        for (name, words, default) in self.notes {
            if let Some(field) = find(&mut schema, name) {
                annotate(field, words, default);
            }
        }
        for name in self.not_blank {
            if let Some(field) = find(&mut schema, name) {
                field["pattern"] = "\\S".into();
            }
        }
        schema
    }

    /// As query parameters.
    pub(super) fn parameters(&self) -> Vec<Value> {
        let schema = self.schema();
        let parameter = |field: &crate::read::Drawn| {
            let mut schema = schema["properties"][field.name].clone();
            let words = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({
                "name": field.name, "in": "query", "required": field.required,
                "description": words, "schema": schema,
            })
        };
        self.drawing.fields().iter().map(parameter).collect()
    }

    /// Fields without words, and words without a field: both are mistakes.
    #[cfg(test)]
    pub(super) fn mistakes(&self) -> Vec<String> {
        let mut schema = self.drawing.schema();
        let forgotten =
            names(&schema, "").into_iter().filter(|name| !self.notes.iter().any(|note| note.0 == *name));
        let forgotten: Vec<String> = forgotten.map(|name| format!("{name} has no words")).collect();
        let unknown = self.notes.iter().filter(|note| find(&mut schema, note.0).is_none());
        let unknown: Vec<String> = unknown.map(|note| format!("{} is no field", note.0)).collect();
        [forgotten, unknown].concat()
    }
}

fn annotate(field: &mut Value, words: &str, default: &str) {
    field["description"] = words.into();
    if let Ok(default) = serde_json::from_str::<Value>(default) {
        field["default"] = default;
    }
}

/// The schema of a field by its name; lists are looked through.
fn find<'a>(schema: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    name.split('.').try_fold(schema, |schema, step| inside(schema).get_mut("properties")?.get_mut(step))
}

fn inside(schema: &mut Value) -> &mut Value {
    match schema.get("items").is_some() {
        true => &mut schema["items"],
        false => schema,
    }
}

#[cfg(test)]
fn names(schema: &Value, before: &str) -> Vec<String> {
    let fields = schema.get("items").unwrap_or(schema).get("properties").and_then(Value::as_object);
    let named = |(name, field): (&String, &Value)| {
        let name = format!("{before}{name}");
        let inner = names(field, &format!("{name}."));
        [vec![name], inner].concat()
    };
    fields.into_iter().flatten().flat_map(named).collect()
}
