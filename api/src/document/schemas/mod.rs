//! What answers look like: the schemas of `shapes/`, which are held against every answer of every test.

mod apps;
mod audio_webhook;
mod chat;
mod conversations;
mod errors;
mod finalization;
mod goals;
mod keys;
mod profile;
mod status;
mod things;
mod webhooks;

use serde_json::{Map, Value, json};

/// A schema of `components.schemas`.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A list of them.
pub(crate) fn list_of(name: &str) -> Value {
    json!({ "type": "array", "items": reference(name) })
}

/// All schemas of answers.
pub(super) fn all() -> Map<String, Value> {
    let tables = [
        conversations::schemas(),
        finalization::schemas(),
        things::schemas(),
        goals::schemas(),
        chat::schemas(),
        profile::schemas(),
        keys::schemas(),
        apps::schemas(),
        webhooks::schemas(),
        audio_webhook::schemas(),
        status::schemas(),
        errors::schemas(),
    ];
    tables.into_iter().filter_map(|table| table.as_object().cloned()).flatten().collect()
}

/// An object all of whose fields are there, but for the ones named in `but`.
fn object(words: &str, properties: Value, but: &[&str]) -> Value {
    let names = properties.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let required: Vec<&str> = names.filter(|name| !but.contains(name)).collect();
    json!({ "type": "object", "description": words, "required": required, "properties": properties })
}

fn text(words: &str) -> Value {
    json!({ "type": "string", "description": words })
}

fn text_or_null(words: &str) -> Value {
    json!({ "type": ["string", "null"], "description": words })
}

fn time(words: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": words })
}

fn time_or_null(words: &str) -> Value {
    json!({ "type": ["string", "null"], "format": "date-time", "description": words })
}

fn truth(words: &str) -> Value {
    json!({ "type": "boolean", "description": words })
}

fn count(words: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": words })
}

fn number(words: &str) -> Value {
    json!({ "type": "number", "description": words })
}

fn one_of<'a>(words: &str, names: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": names.into_iter().collect::<Vec<_>>(), "description": words })
}
