//! What answers here.

use serde_json::{Value, json};

use super::{object, text};

/// The schema of `GET /v1/status`.
pub(super) fn schemas() -> Value {
    let engines = json!({
        "type": "object",
        "description": "The engine behind each ability, with its model and the version of its prompts.",
        "additionalProperties": { "type": "string" },
    });
    let properties = json!({ "version": text("The version of the service."), "engines": engines });
    json!({ "Status": object("What answers here.", properties, &[]) })
}
