//! What is answered instead of what was asked for: FastAPI's own schemas.

use serde_json::{Value, json};

use super::{list_of, object, text};

/// The bodies of refusals.
pub(super) fn schemas() -> Value {
    let place =
        json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } });
    json!({
        "Problem": object("The error in one sentence.", json!({ "detail": text("The sentence.") }), &[]),
        "HTTPValidationError": object(
            "Every failing field, in FastAPI's form; the input is not echoed.",
            json!({ "detail": list_of("ValidationError") }),
            &[],
        ),
        "ValidationError": object(
            "One failing field.",
            json!({
                "type": text("The kind of fault, such as `missing` or `string_too_long`."),
                "loc": place,
                "msg": text("The error in words."),
                "ctx": { "type": "object", "description": "The numbers or names that say what would be right." },
            }),
            &["ctx"],
        ),
    })
}
