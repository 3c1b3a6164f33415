//! What answers here.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

shape! {
    /// What answers here.
    pub status(engines: Map<String, Value>) -> Status {
        /// The version of the service.
        version: &'static str = env!("CARGO_PKG_VERSION"), "0.1.0";
        /// The engine behind each ability, with its model and the version of its prompts.
        #[schemars(with = "BTreeMap<String, String>")]
        engines: Map<String, Value> = engines, { "describe": "embedded/23", "embed": "embedded/23" };
    }
}
