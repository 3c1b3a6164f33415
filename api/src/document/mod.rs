//! The OpenAPI document, made of the registered endpoints: requests of the readers that read them
//! (`read/request_schema.rs`), answers of the types that are written (`shapes/`).

mod errors;
mod headers;
mod operation;
mod response;
mod tidy;
mod webhooks;

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{Endpoint, routes::GROUPS, shapes};

/// The version of the developer interface (spec, "Versioning").
const VERSION: &str = "1.0.0";

/// Writes the document of these endpoints, OpenAPI 3.1.
pub(crate) fn write(endpoints: &[Endpoint]) -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .for_serialize()
        .into_generator();
    generator.subschema_for::<shapes::Problem>();
    generator.subschema_for::<shapes::HTTPValidationError>();
    let documented = || endpoints.iter().filter(|endpoint| endpoint.is_documented());
    let mut paths = paths(documented(), &mut generator);
    let mut webhooks = webhooks::webhooks(&mut generator);
    let bodies = documented().filter_map(|endpoint| endpoint.body.as_ref());
    let mut sent: Value = bodies.map(|body| (body.name.to_owned(), body.fields.schema())).collect();
    let mut answered = Value::Object(generator.take_definitions(true));
    for schema in answered.as_object_mut().into_iter().flat_map(Map::values_mut) {
        tidy::absent_instead_of_null(schema);
    }
    let mut schemas = Map::new();
    for part in [&mut paths, &mut webhooks, &mut sent, &mut answered] {
        tidy::tidy(part, &mut schemas);
    }
    for (name, schema) in [sent, answered].iter().filter_map(Value::as_object).flatten() {
        // A body that is a part of another one, too, is described there.
        schemas.entry(name).or_insert_with(|| schema.clone());
    }
    schemas.sort_keys();
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
        "tags": GROUPS.iter().map(|(name, words)| json!({ "name": name, "description": words })).collect::<Value>(),
        "paths": paths,
        "webhooks": webhooks,
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
            "schemas": schemas,
        },
    })
}

fn paths<'e>(endpoints: impl Iterator<Item = &'e Endpoint>, generator: &mut SchemaGenerator) -> Value {
    let mut paths = json!({});
    for endpoint in endpoints {
        paths[endpoint.path][endpoint.method] = operation::write(endpoint, generator);
    }
    paths
}

#[cfg(test)]
mod tests;
