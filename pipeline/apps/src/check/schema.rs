//! The schema of one parameter: small, shallow, and one that arguments can be checked by in linear time.

use std::collections::BTreeSet;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::written::{Unwritten, written_out};

const MAX_BYTES: usize = 8 * 1_024;
const MAX_LEVELS: usize = 5;
const MAX_WHOLE_BYTES: usize = 16 * 1_024;
const MAX_WHOLE_LEVELS: usize = 12;
/// How large a regular expression may be once it is compiled: it takes a millisecond.
const MAX_PATTERN_BYTES: usize = 64 * 1_024;

/// What is wrong with a parameter's schema.
pub(super) fn check_schema(schema: &Value) -> Option<String> {
    if schema.to_string().len() > MAX_BYTES {
        return Some(format!("is longer than {} KiB", MAX_BYTES / 1_024));
    }
    if levels(schema) > MAX_LEVELS {
        return Some(format!("is nested deeper than {MAX_LEVELS} levels"));
    }
    if refers(schema) {
        return Some("is not written out: it holds $ref or $id".to_owned());
    }
    if is_common(schema) {
        return None;
    }
    uncheckable(schema)
}

/// The whole schema of an MCP tool's arguments, which may refer to parts of itself, with its references written out; or what is
/// wrong with it.
pub(super) fn written_whole(schema: &Value) -> Result<Value, String> {
    if schema.to_string().len() > MAX_WHOLE_BYTES {
        return Err(format!("is longer than {} KiB", MAX_WHOLE_BYTES / 1_024));
    }
    if levels(schema) > MAX_WHOLE_LEVELS {
        return Err(format!("is nested deeper than {MAX_WHOLE_LEVELS} levels"));
    }
    written_out(schema).map_err(|unwritten| match unwritten {
        Unwritten::Refers => "refers to what is not a part of it".to_owned(),
        Unwritten::TooLarge => "is too long or too deep with its references written out".to_owned(),
    })
}

/// Why no validator can be made of it.
pub(super) fn uncheckable(schema: &Value) -> Option<String> {
    compile(schema).err().map(|NoSchema| "is not a JSON Schema that can be checked".to_owned())
}

/// How many regular expressions it holds.
pub(super) fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => {
            let own = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(all)) => all.len(),
                _ => 0,
            };
            fields.iter().map(own).sum::<usize>() + fields.values().map(patterns).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// Whether it refers to a schema elsewhere: parameters are checked one by one, and shown as parts of one schema, in which a
/// reference leads elsewhere.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef" | "$id") || refers(value)
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

/// Whether it is a schema of the common keywords alone, rightly used. Most are, and these need no validator to be known as right:
/// to make one takes a thousand times as long. Whatever is not known here is left to the validator.
fn is_common(schema: &Value) -> bool {
    let Value::Object(fields) = schema else { return schema.is_boolean() };
    fields.iter().all(|(name, value)| match name.as_str() {
        "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
        "default" | "const" => true,
        "description" | "title" | "format" | "$comment" => value.is_string(),
        "examples" => value.is_array(),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "items" | "additionalProperties" | "contains" | "not" => is_common(value),
        "properties" => value.as_object().is_some_and(|all| all.values().all(is_common)),
        "anyOf" | "oneOf" | "allOf" => {
            value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_common))
        }
        "required" => value.as_array().is_some_and(|names| {
            let distinct: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
            distinct.len() == names.len()
        }),
        _ => false,
    })
}

/// No validator can be made of it.
#[derive(Debug)]
pub(crate) struct NoSchema;

/// The validator of a parameter's schema. Patterns are matched by an engine that never backtracks, so that no manifest can keep
/// a processor busy, and are short once they are compiled, because `\p{L}{1000}` is a megabyte; references to other documents are refused, because nothing is fetched here.
pub(crate) fn compile(schema: &Value) -> Result<Validator, NoSchema> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .should_validate_formats(false)
        .build(schema)
        .map_err(|_| NoSchema)
}

/// How many objects and arrays stand in one another.
fn levels(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Schemas and what looks like them: common keywords with values of every kind.
    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            (-3_i64..300).prop_map(Value::from),
            (-2.5_f64..2.5).prop_map(Value::from),
            prop::sample::select(vec!["string", "integer", "null", "date", "strange"]).prop_map(Value::from),
            prop::collection::vec(prop::sample::select(vec!["a", "b"]), 0..3).prop_map(Value::from),
            Just(json!({})),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let keyword = prop::sample::select(vec![
                "type",
                "default",
                "const",
                "description",
                "title",
                "format",
                "$comment",
                "examples",
                "enum",
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "uniqueItems",
                "deprecated",
                "readOnly",
                "writeOnly",
                "items",
                "additionalProperties",
                "contains",
                "not",
                "properties",
                "anyOf",
                "oneOf",
                "allOf",
                "required",
                "pattern",
            ]);
            prop_oneof![
                prop::collection::btree_map(keyword, inner.clone(), 0..4).prop_map(|fields| json!(fields)),
                prop::collection::vec(inner, 0..3).prop_map(Value::from),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn schema_shortcut_accepts_only_valid_schemas(schema in any_schema()) {
            prop_assert!(!is_common(&schema) || compile(&schema).is_ok(), "{schema}");
        }
    }

    #[test]
    fn schema_shortcut_covers_common_schemas() {
        let common = json!({
            "type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {
                "city": { "type": "string", "minLength": 1, "maxLength": 80, "format": "city" },
                "floor": { "anyOf": [{ "type": "integer", "minimum": -5, "maximum": 200 }, { "type": "null" }] },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "uniqueItems": true, "maxItems": 3 },
            },
        });
        assert!(is_common(&common) && compile(&common).is_ok());
        for other in
            [json!({ "pattern": "^a+$" }), json!({ "type": ["string", "null"] }), json!({ "maxLength": -1 })]
        {
            assert!(!is_common(&other), "{other}");
        }
    }
}
