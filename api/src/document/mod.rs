//! The OpenAPI document, made of the code: requests of the readers that read them (`read/drawing.rs`), answers of the
//! schemas that every test's answers are held against, and words that stand beside the routes
//! (`routes/described/`).

mod answer;
mod described;
mod errors;
mod headers;
mod operation;
pub(crate) mod page;
mod schemas;
mod told;

pub(crate) use answer::Answer;
pub(crate) use described::Described;
pub(crate) use operation::Operation;

use serde_json::{Map, Value, json};

use crate::{Settings, routes};

/// The version of the developer interface (spec, "Versioning").
const VERSION: &str = "1.0.0";

/// The document of the public interface, OpenAPI 3.1, as a service with these settings would serve it. The internal
/// run route is no part of it.
pub fn document(settings: &Settings) -> Value {
    let operations = routes::described(settings);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "listen",
            "summary": "Conversations in; titles, tasks, memories and events out.",
            "description": include_str!("intro.md"),
            "version": VERSION,
            "x-program-version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The service that served this document." }],
        "tags": tags(&operations),
        "paths": paths(&operations),
        "webhooks": told::webhooks(),
        "components": {
            "securitySchemes": { "developerKey": {
                "type": "http", "scheme": "bearer", "bearerFormat": "lsk_…",
                "description": "A developer key. Each operation names the scope that it needs.",
            }, "appKey": {
                "type": "http", "scheme": "bearer", "bearerFormat": "lak_…",
                "description": "A key of an app, made by its owner (`POST /v1/apps/{app_id}/keys`).",
            } },
            "parameters": headers::parameters(),
            "headers": headers::headers(),
            "responses": errors::all(),
            "schemas": schemas(&operations),
        },
    })
}

fn tags(operations: &[Operation]) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for operation in operations {
        if !names.contains(&operation.tag) {
            names.push(operation.tag);
        }
    }
    names.into_iter().map(|name| json!({ "name": name })).collect()
}

fn paths(operations: &[Operation]) -> Value {
    let mut paths = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.write();
    }
    Value::Object(paths)
}

/// Bodies that are sent, then answers.
fn schemas(operations: &[Operation]) -> Value {
    let bodies = operations.iter().filter_map(|operation| operation.body.as_ref());
    let mut schemas: Map<String, Value> =
        bodies.map(|body| (body.name.to_owned(), body.fields.schema())).collect();
    schemas.extend(schemas::all());
    Value::Object(schemas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_that_is_read_has_words_and_no_words_are_left_over() {
        for operation in routes::described(&Settings::default()) {
            let bodies = operation.body.iter().map(|body| &body.fields);
            for described in operation.query.iter().chain(bodies) {
                let mistakes = described.mistakes();
                assert!(mistakes.is_empty(), "{} {}: {mistakes:?}", operation.method, operation.path);
            }
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_words_and_a_good_answer() {
        let operations = routes::described(&Settings::default());
        let mut names: Vec<&str> = operations.iter().map(|operation| operation.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), operations.len());
        for operation in &operations {
            assert!(!operation.summary.is_empty(), "{}", operation.id);
            let written = operation.write();
            let good = ["101", "200", "204"].iter().any(|status| written["responses"].get(status).is_some());
            assert!(good, "{}", operation.id);
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document(&Settings::default());
        let text = document.to_string();
        let references = text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap_or(""));
        for pointer in references {
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
