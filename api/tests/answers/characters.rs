//! Characters that no database column can hold: U+0000 and half a surrogate pair, in every text of every request.

use std::collections::HashMap;

use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::bench::{Answer, Bench, P};

/// Stands in a body for the character under test, which `serde_json` may not be able to write.
const MARK: &str = "<here>";
/// As JSON escapes them.
const UNSTORABLE: [&str; 3] = ["\\u0000", "\\ud800", "a\\udc00b"];

struct Route {
    method: Method,
    path: String,
    /// A body with every field that the document knows.
    body: Value,
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.map_or(schema, |pointer| document.pointer(pointer).unwrap())
}

/// A value of every field of `schema`.
fn sample(document: &Value, schema: &Value) -> Value {
    let schema = resolved(document, schema);
    if let Some(either) = schema["anyOf"].as_array().filter(|_| schema.get("properties").is_none()) {
        let filled = either.iter().find(|one| one["type"] != "null").unwrap();
        return sample(document, filled);
    }
    let is = |kind: &str| schema["type"] == kind || schema["type"][0] == kind;
    if let Some(names) = schema["enum"].as_array() {
        return names[0].clone();
    }
    if is("object") {
        let fields = schema["properties"].as_object().into_iter().flatten();
        return fields
            .map(|(name, field)| (name.clone(), sample(document, field)))
            .collect::<Map<_, _>>()
            .into();
    }
    if is("array") {
        return json!([sample(document, &schema["items"])]);
    }
    if is("boolean") {
        return json!(true);
    }
    if is("string") {
        return if schema["format"] == "date-time" { json!("2026-11-21T10:00:00Z") } else { json!("text") };
    }
    schema.get("minimum").cloned().unwrap_or(json!(1))
}

/// Every route that takes a body, with the ids of things that exist.
fn routes(ids: &HashMap<&str, String>) -> Vec<Route> {
    let document = api::document(&api::Settings::default());
    let mut routes = Vec::new();
    for (pattern, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let Some(schema) = operation["requestBody"]["content"]["application/json"].get("schema") else {
                continue;
            };
            // An app's own key opens it: `notifications`.
            if pattern == "/v1/integrations/notification" {
                continue;
            }
            let path =
                ids.iter().fold(pattern.clone(), |path, (name, id)| path.replace(&format!("{{{name}}}"), id));
            assert!(!path.contains('{'), "an id for {path}");
            let method = method.to_uppercase().parse().unwrap();
            let mut body = sample(&document, schema);
            if let (true, Some(fields)) = (path.ends_with("push-subscriptions"), body.as_object_mut()) {
                // Each kind of push reads fields of its own.
                let url = fields.remove("url").unwrap();
                let body = json!({ "kind": "webhook", "url": url });
                routes.push(Route { method: Method::POST, path: path.clone(), body });
            }
            routes.push(Route { method, path, body });
        }
    }
    routes
}

/// The places of all strings in `body`.
fn strings(body: &Value, at: &str, found: &mut Vec<String>) {
    match body {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| strings(item, &format!("{at}/{index}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| strings(field, &format!("{at}/{name}"), found));
        }
        _ => {}
    }
}

async fn send(bench: &Bench, route: &Route, body: String) -> Answer {
    let request = Request::builder()
        .method(route.method.clone())
        .uri(&route.path)
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json");
    bench.send(request.body(Body::from(body)).unwrap()).await
}

async fn id_of(bench: &Bench, path: &str, body: Value) -> String {
    let made = bench.post(path, body).await;
    assert!(made.status.is_success(), "{path}: {made:?}");
    made.body["id"].as_str().unwrap().to_owned()
}

/// One thing of every kind, by the name of its parameter.
async fn objects(bench: &Bench) -> HashMap<&'static str, String> {
    let segments = json!({ "transcript_segments": [{ "text": "Hi", "start": 0, "end": 1 }] });
    let webhook = json!({ "url": "https://example.com/hook" });
    HashMap::from([
        ("conversation_id", id_of(bench, &format!("{P}/conversations/from-segments"), segments).await),
        (
            "action_item_id",
            id_of(bench, &format!("{P}/action-items"), json!({ "description": "Call" })).await,
        ),
        ("memory_id", id_of(bench, &format!("{P}/memories"), json!({ "content": "Likes tea" })).await),
        (
            "goal_id",
            id_of(
                bench,
                &format!("{P}/goals"),
                json!({ "title": "Read", "target_value": 12, "goal_type": "numeric" }),
            )
            .await,
        ),
        ("endpoint_id", id_of(bench, &format!("{P}/webhooks"), webhook).await),
        ("app_id", id_of(bench, "/v1/apps", json!({ "name": "Tasks" })).await),
        ("person_id", id_of(bench, "/v1/users/me/people", json!({ "name": "Helena" })).await),
    ])
}

#[tokio::test]
async fn u0000_and_lone_surrogates_are_422_in_every_body_string() {
    let bench = Bench::new().await;
    let routes = routes(&objects(&bench).await);
    assert!(routes.len() >= 20, "every creating and patching route");
    let mut tried = 0;
    for route in &routes {
        let mut places = Vec::new();
        strings(&route.body, "", &mut places);
        for place in places {
            let mut body = route.body.clone();
            *body.pointer_mut(&place).unwrap() = json!(MARK);
            for character in UNSTORABLE {
                let answer = send(&bench, route, body.to_string().replace(MARK, character)).await;
                let (method, path) = (&route.method, &route.path);
                assert_eq!(answer.status, 422, "{method} {path} {place} {character}: {answer:?}");
                let loc = |loc: &Value| {
                    let steps = loc.as_array().unwrap().iter().skip(1);
                    steps.map(|step| format!("/{}", step.to_string().trim_matches('"'))).collect::<String>()
                };
                let kinds = answer.kinds();
                assert!(kinds.iter().any(|(_, at)| loc(at) == place), "{method} {path} {place}: {kinds:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 150, "{tried} strings");
}

#[tokio::test]
async fn u0000_in_a_query_or_path_is_not_a_500() {
    let bench = Bench::new().await;
    let document = api::document(&api::Settings::default());
    for (pattern, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let steps = pattern.split('/').map(|step| if step.starts_with('{') { "a%00b" } else { step });
            let path = steps.collect::<Vec<_>>().join("/");
            let names = operation["parameters"].as_array().into_iter().flatten();
            let names =
                names.filter(|parameter| parameter["in"] == "query").map(|it| it["name"].as_str().unwrap());
            let queries = names.map(|name| format!("?{name}=a%00b"));
            for query in queries.chain([String::new()]) {
                let request = Request::builder()
                    .method(method.to_uppercase().as_str())
                    .uri(format!("{path}{query}"))
                    .header("authorization", format!("Bearer {}", bench.key));
                let answer = bench.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
                assert_ne!(answer.status(), 500, "{method} {path}{query}");
            }
        }
    }
}
