//! What is answered instead of what was asked for: FastAPI's own schemas.

use serde_json::{Value, json};

use super::{list_of, object, one_of, reference, text};
use crate::error::Code;

/// FastAPI's `detail`, and what is beside it.
fn beside(detail: Value) -> Value {
    json!({
        "detail": detail,
        "code": reference("ErrorCode"),
        "doc_url": text("Where the code is explained: a path of this service."),
        "request_id": text("The request's id, as in the header `X-Request-Id`: the service's log has it."),
    })
}

/// The bodies of refusals.
pub(super) fn schemas() -> Value {
    let place =
        json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } });
    json!({
        "Problem": object("The error in one sentence.", beside(text("The sentence.")), &[]),
        "HTTPValidationError": object(
            "Every failing field, in FastAPI's form; the input is not echoed.",
            beside(list_of("ValidationError")),
            &[],
        ),
        "ErrorCode": one_of("What went wrong, for programs.", Code::ALL.iter().map(|code| code.as_str())),
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
