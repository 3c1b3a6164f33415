//! What answers here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::shapes::Shape;

/// What answers here.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// The version of the service.
    pub(crate) version: &'static str,
    /// The engine behind each ability, with its model and the version of its prompts.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) engines: Map<String, Value>,
}

impl Shape for Status {
    fn example() -> Value {
        json!({ "version": "0.1.0", "engines": { "describe": "embedded/19", "embed": "embedded/19" } })
    }
}
