//! The schema of one parameter: small, shallow, and one that arguments can be checked by in linear time.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

const MAX_BYTES: usize = 8 * 1_024;
const MAX_LEVELS: usize = 5;

/// What is wrong with a parameter's schema.
pub(super) fn check_schema(schema: &Value) -> Option<String> {
    if schema.to_string().len() > MAX_BYTES {
        return Some(format!("is longer than {} KiB", MAX_BYTES / 1_024));
    }
    if levels(schema) > MAX_LEVELS {
        return Some(format!("is nested deeper than {MAX_LEVELS} levels"));
    }
    compile(schema).err().map(|NoSchema| "is not a JSON Schema that can be checked".to_owned())
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
