//! What answers here.

use serde_json::json;

use crate::document::{Answer, Operation};

/// The status.
pub(super) fn operations() -> Vec<Operation> {
    let example = json!({
        "version": "0.1.0",
        "engines": { "describe": "embedded/7", "embed": "embedded/7" },
    });
    vec![
        Operation::new("get", "/v1/status", "get_status", "Service", "Which engine does what")
            .says(
                "Engines by the ids under which their results are kept. It needs no key and holds no secret.",
            )
            .public()
            .answers(Answer::one("Status", "As it is now.", example)),
    ]
}
