//! Answers, as OpenAPI has them.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::errors;
use crate::Answer;

/// Writes an answer under its status; a second refusal of one status adds its example to the first.
pub(super) fn add(
    responses: &mut Map<String, Value>,
    answer: &Answer,
    tagged: bool,
    generator: &mut SchemaGenerator,
) {
    let status = answer.status.to_string();
    if let Some(known) = responses.get_mut(&status) {
        let content = &mut known["content"]["application/json"];
        let mut examples = content["examples"].as_object().cloned().unwrap_or_default();
        for example in &answer.examples {
            examples.insert(format!("example {}", examples.len() + 1), json!({ "value": example }));
        }
        content["examples"] = examples.into();
        return;
    }
    responses.insert(status, write(answer, tagged, generator));
}

fn write(answer: &Answer, tagged: bool, generator: &mut SchemaGenerator) -> Value {
    let mut response = json!({ "description": answer.words });
    let mut names = answer.headers.clone();
    names.push("X-Request-Id");
    if tagged && answer.status == 200 {
        names.push("ETag");
    }
    let header = |name: &str| (name.to_owned(), errors::header(name));
    response["headers"] = names.into_iter().map(header).collect::<Map<_, _>>().into();
    if let Some(schema) = answer.schema {
        let numbered = answer.examples.iter().enumerate();
        let examples: Map<String, Value> = numbered
            .map(|(index, example)| (format!("example {}", index + 1), json!({ "value": example })))
            .collect();
        response["content"] =
            json!({ "application/json": { "schema": schema(generator), "examples": examples } });
        if answer.streamed {
            response["content"]["text/event-stream"] = json!({ "schema": {
                "type": "object",
                "description": "An event; `data` is a JSON object.",
                "properties": { "event": { "type": "string" }, "data": { "type": "string" } },
                "required": ["event", "data"],
            } });
        }
    }
    if !answer.links.is_empty() {
        response["links"] = answer.links.iter().map(link).collect::<Map<_, _>>().into();
    }
    response
}

fn link((operation, parameter, pointer): &(&str, &str, &str)) -> (String, Value) {
    let place = format!("$response.body#{pointer}");
    ((*operation).to_owned(), json!({ "operationId": operation, "parameters": { *parameter: place } }))
}
