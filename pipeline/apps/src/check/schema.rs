//! The schema of one parameter: small, shallow, and one that arguments can be checked by in linear time.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

const MAX_BYTES: usize = 8 * 1_024;
const MAX_LEVELS: usize = 5;
const MAX_WHOLE_BYTES: usize = 16 * 1_024;
const MAX_WHOLE_LEVELS: usize = 12;

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
    if is_plain(schema) {
        return None;
    }
    compile(schema).err().map(|NoSchema| "is not a JSON Schema that can be checked".to_owned())
}

/// What is wrong with the whole schema of an MCP tool's arguments, which may refer to parts of itself.
pub(super) fn check_whole(schema: &Value) -> Option<String> {
    if schema.to_string().len() > MAX_WHOLE_BYTES {
        return Some(format!("is longer than {} KiB", MAX_WHOLE_BYTES / 1_024));
    }
    if levels(schema) > MAX_WHOLE_LEVELS {
        return Some(format!("is nested deeper than {MAX_WHOLE_LEVELS} levels"));
    }
    compile(schema).err().map(|NoSchema| "is not a JSON Schema that can be checked".to_owned())
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

/// Whether it says no more than a type, which was checked, and words: most do, and these need no validator to be known as right.
fn is_plain(schema: &Value) -> bool {
    let is_word = |(name, value): (&String, &Value)| match name.as_str() {
        "type" | "default" => true,
        "description" | "title" => value.is_string(),
        "examples" => value.is_array(),
        _ => false,
    };
    schema.as_object().is_some_and(|fields| fields.iter().all(is_word))
}

/// No validator can be made of it.
#[derive(Debug)]
pub(crate) struct NoSchema;

/// The validator of a parameter's schema. Patterns are matched by an engine that never backtracks, so that no manifest can keep
/// a processor busy; references to other documents are refused, because nothing is fetched here.
pub(crate) fn compile(schema: &Value) -> Result<Validator, NoSchema> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
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
