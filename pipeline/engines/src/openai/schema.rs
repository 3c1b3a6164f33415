//! JSON schemas in the strict subset that servers enforce: every property required, no others allowed,
//! nullable instead of optional, no bounds or formats.

use records::{Category, MemoryCategory};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// What the subset does not know; the checks of `stages` take their place.
const UNKNOWN: [&str; 9] =
    ["title", "format", "default", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"];

/// The strict schema of `T`, its properties in the order of its fields: models write in that order, so
/// that what is looked up stands before what is concluded.
pub(super) fn strict<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings
        .with_transform(RecursiveTransform(restrict))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

fn restrict(schema: &mut Schema) {
    for key in UNKNOWN {
        // A property may be called "title"; an annotation of that name is always a text or a number.
        if schema.get(key).is_some_and(|value| !value.is_object()) {
            schema.remove(key);
        }
    }
    let names = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|all| all.keys().cloned().collect::<Vec<_>>());
    if let Some(names) = names {
        schema.insert("required".to_owned(), names.into());
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// One of the conversation categories, by name.
pub(super) fn category(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Category::ALL.iter().map(|category| category.as_str()).collect();
    json_schema!({"type": "string", "enum": names})
}

/// One of the memory categories, by name.
pub(super) fn memory_category(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = MemoryCategory::ALL.iter().map(|category| category.as_str()).collect();
    json_schema!({"type": "string", "enum": names})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::answers::{Description, Judgement, MemoryList, Merged, Reading, Tasks, Text};

    fn check(schema: &Value) {
        match schema {
            Value::Object(fields) => {
                for key in ["$ref", "$schema", "format", "default", "minimum", "maximum"] {
                    assert!(!fields.contains_key(key), "{key} in {schema}");
                }
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
                    assert_eq!(fields.get("required"), Some(&Value::Array(names)), "{schema}");
                    assert_eq!(fields.get("additionalProperties"), Some(&Value::Bool(false)), "{schema}");
                }
                fields.values().for_each(check);
            }
            Value::Array(values) => values.iter().for_each(check),
            _ => {}
        }
    }

    #[test]
    fn every_schema_stays_inside_the_strict_subset() {
        let schemas = [
            strict::<Judgement>(),
            strict::<Description>(),
            strict::<Tasks>(),
            strict::<MemoryList>(),
            strict::<Text>(),
            strict::<Merged>(),
            strict::<Reading>(),
        ];
        for schema in &schemas {
            assert_eq!(schema["type"], "object");
            check(schema);
        }
    }

    #[test]
    fn fields_keep_their_order_and_optional_ones_are_nullable() {
        let schema = strict::<Tasks>();
        let task = &schema["properties"]["tasks"]["items"];
        let names: Vec<_> =
            task["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["lines", "description", "owner", "due_words", "due_local"]);
        assert_eq!(task["properties"]["owner"]["type"], serde_json::json!(["string", "null"]));
        let title = &strict::<Description>()["properties"]["title"];
        assert_eq!(title["type"], "string", "a property called title is no annotation");
    }
}
