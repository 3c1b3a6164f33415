//! An endpoint, as OpenAPI has it. What every operation has in common (its errors, its request id) is added here.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{errors, response};
use crate::{
    Access, Answer, Endpoint,
    endpoint::{Repeats, RequestBody, Takes},
};

/// What the ids in paths are.
const IDS: [(&str, &str); 11] = [
    ("conversation_id", "The conversation's id."),
    ("action_item_id", "The action item's id."),
    ("memory_id", "The memory's id."),
    ("goal_id", "The goal's id, `goal_…`."),
    ("endpoint_id", "The webhook endpoint's id."),
    ("delivery_id", "The delivery's id: `webhook-id` of every try."),
    ("app_id", "The app's id."),
    ("key_id", "The key's id."),
    ("person_id", "The person's id."),
    ("subscription_id", "The push subscription's id."),
    ("message_id", "The message's id."),
];

/// The operation object of OpenAPI.
pub(super) fn write(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Value {
    let mut object = json!({
        "tags": [endpoint.tag],
        "summary": endpoint.title,
        "operationId": endpoint.id,
    });
    if !endpoint.description.is_empty() {
        object["description"] = endpoint.description.into();
    }
    let parameters = parameters(endpoint);
    if !parameters.is_empty() {
        object["parameters"] = parameters.into();
    }
    if let Some(body) = &endpoint.body {
        object["requestBody"] = write_body(body);
    }
    object["responses"] = Value::Object(responses(endpoint, generator));
    object["security"] = match endpoint.access {
        Access::Open => json!([]),
        Access::App => json!([{ "appKey": [] }]),
        Access::AnyKey => json!([{ "developerKey": [] }]),
        Access::Scope(scope) => json!([{ "developerKey": [scope.as_str()] }]),
    };
    object
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let ids = endpoint.path.split('/').filter_map(|step| step.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = ids.map(path_parameter).collect();
    parameters.extend(endpoint.query.iter().flat_map(Takes::parameters));
    let mut shared = |name: &str| {
        parameters.push(json!({ "$ref": format!("#/components/parameters/{name}") }));
    };
    if !matches!(endpoint.repeats, Repeats::Plain) {
        shared("IdempotencyKey");
    }
    if endpoint.takes_model_key {
        shared("ModelKey");
    }
    if endpoint.conditional {
        shared("IfNoneMatch");
    }
    parameters
}

fn path_parameter(name: &str) -> Value {
    let words = IDS.iter().find(|(known, _)| *known == name).map(|(_, words)| *words);
    json!({
        "name": name, "in": "path", "required": true, "description": words,
        "schema": { "type": "string", "minLength": 1 },
    })
}

fn write_body(body: &RequestBody) -> Value {
    json!({
        "required": body.required,
        "content": { "application/json": {
            "schema": { "$ref": format!("#/components/schemas/{}", body.name) },
            "example": body.example,
        } },
    })
}

fn responses(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut responses = Map::new();
    for answer in &endpoint.answers {
        response::add(&mut responses, answer, endpoint.conditional, generator);
    }
    let also = |status: &str, name: &str, responses: &mut Map<String, Value>| {
        responses.entry(status).or_insert_with(|| errors::reference(name));
    };
    if endpoint.conditional {
        also("304", "NotModified", &mut responses);
    }
    if endpoint.access == Access::Open {
        if endpoint.query.is_some() {
            also("422", "Invalid", &mut responses);
        }
        return responses;
    }
    also("401", "NotAuthenticated", &mut responses);
    if let Access::Scope(scope) = endpoint.access {
        let detail = format!("Missing required scope: {scope}");
        let lacking = Answer::refusal(403, "The key lacks a scope.", &detail);
        response::add(&mut responses, &lacking, false, generator);
    }
    if endpoint.body.is_some() {
        also("400", "UnreadableBody", &mut responses);
        also("408", "BodyTooSlow", &mut responses);
        also("413", "BodyTooLarge", &mut responses);
    }
    let creates = !matches!(endpoint.repeats, Repeats::Plain);
    if creates {
        for (_, made) in responses.iter_mut().filter(|(status, _)| status.starts_with('2')) {
            made["headers"]["Idempotency-Replayed"] = errors::header("Idempotency-Replayed");
        }
        // A deleted conversation leaves a trace, so that a repeat can report the deletion.
        if !endpoint.path.contains("/conversations") {
            also("404", "CreatedAndDeleted", &mut responses);
        }
        also("409", "StillRunning", &mut responses);
    }
    if endpoint.can_refuse || creates || endpoint.body.is_some() || endpoint.query.is_some() {
        also("422", "Invalid", &mut responses);
    }
    also("429", "TooManyRequests", &mut responses);
    also("503", "Unavailable", &mut responses);
    responses.values_mut().for_each(errors::say_what_is_left);
    responses.sort_keys();
    responses
}
