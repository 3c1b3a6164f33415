//! What is answered instead of what was asked for: FastAPI's own bodies. They are written in `error.rs`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use super::words::ErrorCode;

/// The error in one sentence.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// The sentence.
    detail: String,
    /// What went wrong, for programs.
    #[schemars(with = "ErrorCode")]
    code: &'static str,
    /// Where the code is explained: a path of this service.
    doc_url: String,
    /// The request's id, as in the header `X-Request-Id`: the service's log has it.
    request_id: String,
}

/// Every failing field, in FastAPI's form; the input is not echoed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HTTPValidationError {
    /// The failing fields.
    detail: Vec<ValidationError>,
    /// What went wrong, for programs.
    #[schemars(with = "ErrorCode")]
    code: &'static str,
    /// Where the code is explained: a path of this service.
    doc_url: String,
    /// The request's id, as in the header `X-Request-Id`: the service's log has it.
    request_id: String,
}

/// One failing field.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ValidationError {
    /// The kind of fault, such as `missing` or `string_too_long`.
    #[serde(rename = "type")]
    kind: String,
    /// The way to it: names of fields and indexes of lists, beginning with the part of the request.
    #[schemars(schema_with = "way")]
    loc: Value,
    /// The error in words.
    msg: String,
    /// The numbers or names that say what would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<Map<String, Value>>,
}

/// One step of the way is a field's name or a list's index.
fn way(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } })
}

/// Done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Success {
    /// Always true.
    success: bool,
}

impl crate::shapes::Shape for Success {
    fn example() -> Value {
        serde_json::json!({ "success": true })
    }
}

/// The answer to a DELETE.
pub(crate) const SUCCESS: Success = Success { success: true };
