//! What a reader would read: the fields it asks for, as a JSON Schema. The document cannot say anything else than the
//! reader does, because the reader itself says it.

use serde_json::{Map, Value, json};

/// Marks a schema that becomes a component of that name.
pub(crate) const COMPONENT: &str = "x-component";
/// The schema itself, beside the mark.
pub(crate) const SCHEMA: &str = "x-schema";

/// The fields that one function takes out of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestSchema {
    fields: Vec<FieldSchema>,
    any_of: Vec<Value>,
    /// What a field says of the kind of object: that field, and the schemas of the kinds.
    kinds: Option<(&'static str, Vec<Value>)>,
}

/// One field of a request.
#[derive(Clone, Debug)]
pub(crate) struct FieldSchema {
    pub(crate) name: &'static str,
    /// What it may hold; null included where null is taken.
    pub(crate) schema: Value,
    /// Whether it must be there.
    pub(crate) required: bool,
}

impl RequestSchema {
    /// An object of which the field `tag` says which of several readers reads the rest: each kind with the name of its
    /// schema.
    pub(crate) fn either(tag: &'static str, kinds: Vec<(&'static str, &'static str, Self)>) -> Self {
        let part = |(kind, name, mut request): (&str, &str, Self)| {
            let schema = json!({ "type": "string", "const": kind });
            request.fields.insert(0, FieldSchema { name: tag, schema, required: true });
            json!({ COMPONENT: name, SCHEMA: request.schema() })
        };
        Self { kinds: Some((tag, kinds.into_iter().map(part).collect())), ..Self::default() }
    }

    /// The fields in the order in which they are read.
    pub(crate) fn fields(&self) -> &[FieldSchema] {
        &self.fields
    }

    /// The whole object.
    pub(crate) fn schema(&self) -> Value {
        if let Some((tag, kinds)) = &self.kinds {
            let mapping: Map<String, Value> = kinds
                .iter()
                .filter_map(|kind| {
                    let value = kind.pointer(&format!("/{SCHEMA}/properties/{tag}/const"))?.as_str()?;
                    let name = kind.get(COMPONENT)?.as_str()?;
                    Some((value.to_owned(), format!("#/components/schemas/{name}").into()))
                })
                .collect();
            return json!({ "oneOf": kinds, "discriminator": { "propertyName": tag, "mapping": mapping } });
        }
        let properties: Map<String, Value> =
            self.fields.iter().map(|field| (field.name.to_owned(), field.schema.clone())).collect();
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut schema = Map::from_iter([
            ("type".to_owned(), "object".into()),
            ("properties".to_owned(), properties.into()),
        ]);
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if !self.any_of.is_empty() {
            // Generators make types of alternatives; a rule beside the fields is better hidden from them.
            schema.insert("not".to_owned(), json!({ "not": { "anyOf": self.any_of } }));
        }
        schema.into()
    }

    pub(super) fn required(&mut self, name: &'static str, schema: Value) {
        self.fields.push(FieldSchema { name, schema, required: true });
    }

    pub(super) fn present(&mut self, name: &'static str, schema: Value) {
        self.fields.push(FieldSchema { name, schema, required: false });
    }

    pub(super) fn nullable(&mut self, name: &'static str, schema: Value) {
        self.fields.push(FieldSchema { name, schema: or_null(schema), required: false });
    }

    pub(super) fn any_of(&mut self, names: &[&'static str]) {
        self.any_of = names.iter().map(|name| json!({ "required": [name] })).collect();
    }
}

/// The same, and null.
pub(crate) fn or_null(mut schema: Value) -> Value {
    let has_format = schema.get("format").is_some();
    match schema.get_mut("type").filter(|kind| kind.is_string() && !has_format) {
        Some(kind) => *kind = json!([kind, "null"]),
        // A format is the string's alone, and not every reader of schemas knows that of a list of types.
        None => return json!({ "anyOf": [schema, { "type": "null" }] }),
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.push(Value::Null);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Bool, Choice, Fields, Int, ListOf, Object, Text};

    #[test]
    fn request_schema_lists_fields_and_bounds() {
        let request = RequestSchema::of(|fields| {
            let a = fields.required("a", Text::between(1, 9));
            let b = fields.present("b", Int::between(1, 5));
            let c = fields.optional("c", Choice::of([("x", ()), ("y", ())]));
            let inner = Object(|fields: &mut Fields<'_>| fields.required("e", Bool));
            let d = fields.optional("d", ListOf { item: inner, min: 0, max: 2 });
            if !fields.has_any(&["b", "c"]) {
                return fields.report.rule("at least one");
            }
            Some((a?, b?, c?, d?))
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "minLength": 1, "maxLength": 9 },
                "b": { "type": "integer", "minimum": 1, "maximum": 5 },
                "c": { "type": ["string", "null"], "enum": ["x", "y", null] },
                "d": {
                    "type": ["array", "null"],
                    "items": { "type": "object", "properties": { "e": { "type": "boolean" } }, "required": ["e"] },
                    "maxItems": 2,
                },
            },
            "required": ["a"],
            "not": { "not": { "anyOf": [{ "required": ["b"] }, { "required": ["c"] }] } },
        });
        assert_eq!(request.schema(), expected);
    }
}
