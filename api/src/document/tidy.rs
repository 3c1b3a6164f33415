//! One form for everything in the document: named parts of requests become components, and whatever may be null is
//! `anyOf` of itself and null.

use serde_json::{Map, Value, json};

use crate::read::{COMPONENT, SCHEMA};

/// What describes a schema and stays outside of its alternatives.
const ABOUT: [&str; 3] = ["description", "default", "title"];

/// Puts a schema, or an object that holds some, into its form; the named parts go to `components`.
pub(super) fn tidy(value: &mut Value, components: &mut Map<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, components)),
        Value::Object(object) => {
            for (name, inner) in object.iter_mut() {
                // Examples are data: a field of theirs may be called like a keyword.
                if !matches!(name.as_str(), "example" | "examples" | "default" | "const" | "enum") {
                    tidy(inner, components);
                }
            }
            // OpenAPI does not know Rust's formats of unsigned numbers.
            if object.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
                object.shift_remove("format");
            }
            name_values(object);
            name_part(object, components);
            one_null(object);
        }
        _ => {}
    }
}

/// Marks an optional field of an answer that can be null all the same.
const ALSO_NULL: &str = "x-also-null";

/// A field that an answer may leave out is left out instead of being null.
pub(super) fn absent_instead_of_null(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        let Some(field) = field.as_object_mut() else { continue };
        if field.shift_remove(ALSO_NULL).is_some() || required.contains(&name.as_str().into()) {
            continue;
        }
        if let Some(Value::Array(kinds)) = field.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [kind] = kinds.as_slice() {
                let kind = kind.clone();
                field.insert("type".to_owned(), kind);
            }
        }
        if let Some(Value::Array(alternatives)) = field.get("anyOf")
            && let [Value::Object(one), _] = alternatives.as_slice()
        {
            let one = one.clone();
            field.shift_remove("anyOf");
            field.extend(one);
        }
    }
}

fn name_part(object: &mut Map<String, Value>, components: &mut Map<String, Value>) {
    let (Some(Value::String(name)), Some(schema)) =
        (object.shift_remove(COMPONENT), object.shift_remove(SCHEMA))
    else {
        return;
    };
    object.insert("$ref".to_owned(), format!("#/components/schemas/{name}").into());
    let known = components.entry(name).or_insert_with(|| schema.clone());
    debug_assert_eq!(*known, schema, "two parts have one name");
}

/// Names for generators, some of which leave a colon out: of `chat:read` they make `CHATREAD`.
fn name_values(object: &mut Map<String, Value>) {
    let values = object.get("enum").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<&str> = values.filter_map(Value::as_str).collect();
    if values.iter().any(|value| value.contains(':')) {
        let names: Value = values.iter().map(|value| value.to_uppercase().replace(':', "_")).collect();
        object.insert("x-enum-varnames".to_owned(), names);
    }
}

fn one_null(object: &mut Map<String, Value>) {
    let kinds = object.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
    let (nulls, others): (Vec<Value>, Vec<Value>) = kinds.into_iter().partition(|kind| kind == "null");
    let ([_], [kind]) = (nulls.as_slice(), others.as_slice()) else { return };
    let mut inner = std::mem::take(object);
    inner.insert("type".to_owned(), kind.clone());
    if let Some(Value::Array(names)) = inner.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    for name in ABOUT {
        if let Some(about) = inner.shift_remove(name) {
            object.insert(name.to_owned(), about);
        }
    }
    object.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_a_colon_have_names_for_generators() {
        let mut schema = json!({ "enum": ["chat:read", "chat:write"] });
        tidy(&mut schema, &mut Map::new());
        assert_eq!(schema["x-enum-varnames"], json!(["CHAT_READ", "CHAT_WRITE"]));
        let mut schema = json!({ "enum": ["a", "b"] });
        tidy(&mut schema, &mut Map::new());
        assert_eq!(schema.get("x-enum-varnames"), None);
    }

    #[test]
    fn omitted_response_fields_are_not_nullable() {
        let mut schema = json!({ "required": ["a"], "properties": {
            "a": { "type": ["string", "null"] },
            "b": { "type": ["array", "null"], "items": {} },
            "c": { "anyOf": [{ "$ref": "#/c" }, { "type": "null" }], "description": "C." },
            "d": { "type": ["string", "null"], ALSO_NULL: true },
        } });
        absent_instead_of_null(&mut schema);
        let expected = json!({
            "a": { "type": ["string", "null"] },
            "b": { "type": "array", "items": {} },
            "c": { "description": "C.", "$ref": "#/c" },
            "d": { "type": ["string", "null"] },
        });
        assert_eq!(schema["properties"], expected);
    }

    #[test]
    fn nullable_fields_have_one_form_and_named_types_are_components() {
        let mut components = Map::new();
        let part = json!({ COMPONENT: "Part", SCHEMA: { "type": ["integer", "null"], "minimum": 1 } });
        let mut whole = json!({
            "a": { "type": ["string", "null"], "enum": ["x", null], "description": "A." },
            "b": { "anyOf": [part, { "type": "null" }], "description": "B." },
            "example": { "type": ["string", "null"] },
        });
        tidy(&mut whole, &mut components);
        let expected = json!({
            "a": { "description": "A.", "anyOf": [{ "type": "string", "enum": ["x"] }, { "type": "null" }] },
            "b": { "anyOf": [{ "$ref": "#/components/schemas/Part" }, { "type": "null" }], "description": "B." },
            "example": { "type": ["string", "null"] },
        });
        assert_eq!(whole, expected);
        let part = json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] });
        assert_eq!(components["Part"], part);
    }
}
