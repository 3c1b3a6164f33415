//! Checks every response of every test against the OpenAPI document: its status must be documented, and its body must match
//! the schema without unknown fields.

use std::{collections::HashMap, sync::LazyLock};

use axum::http::Method;
use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::bench::Answer;

/// The document, with objects that allow no additional fields.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = api::document(&api::Settings::default());
    for schema in document["components"]["schemas"].as_object_mut().unwrap().values_mut() {
        if schema.get("properties").is_some() {
            schema["additionalProperties"] = json!(false);
        }
    }
    document
});

static VALIDATORS: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);

/// The operation of a request; a literal path segment wins over a parameter.
fn operation(method: &Method, path: &str) -> Option<(&'static str, &'static Value)> {
    let sent: Vec<&str> = path.split('/').collect();
    let fits = |pattern: &str| {
        let steps: Vec<&str> = pattern.split('/').collect();
        steps.len() == sent.len()
            && steps.iter().zip(&sent).all(|(step, sent)| step.starts_with('{') || step == sent)
    };
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let pattern =
        paths.keys().filter(|pattern| fits(pattern)).min_by_key(|pattern| pattern.matches('{').count())?;
    let method = method.as_str().to_lowercase();
    Some((pattern, paths[pattern].get(method)?))
}

fn resolved(value: &'static Value) -> &'static Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.map_or(value, |pointer| DOCUMENT.pointer(pointer).unwrap())
}

/// Fails unless the document describes this response.
pub(crate) fn check(method: &Method, path: &str, answer: &Answer) {
    let Some((pattern, operation)) = operation(method, path) else { return };
    let status = answer.status.as_str();
    let name = format!("{method} {pattern} {status}");
    let response = operation["responses"].get(status);
    let response =
        resolved(response.unwrap_or_else(|| panic!("the document does not know {name}: {answer:?}")));
    let Some(schema) = response["content"]["application/json"].get("schema") else {
        assert_eq!(answer.body, Value::Null, "{name} has no body");
        return;
    };
    let mut validators = VALIDATORS.lock();
    let validator = validators.entry(name.clone()).or_insert_with(|| compile(schema));
    let faults: Vec<String> = validator
        .iter_errors(&answer.body)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{name} is not as the document says: {faults:#?}\n{}", answer.body);
}

pub(crate) fn compile(schema: &Value) -> Validator {
    let mut whole = schema.clone();
    whole["components"] = json!({ "schemas": DOCUMENT["components"]["schemas"] });
    jsonschema::options().should_validate_formats(true).build(&whole).unwrap()
}
