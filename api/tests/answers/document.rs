//! The OpenAPI document: is the checked-in file current, does it describe every route, and are keys and scopes enforced as it says?

use std::collections::HashMap;

use api::Scope;
use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{bench::Bench, contract::compile};

/// Written by `cargo run -- openapi > api/openapi.json`.
pub(crate) const CHECKED_IN: &str = include_str!("../../openapi.json");

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn checked_in_openapi_document_is_current() {
    let made = api::document(&api::Settings::default());
    assert!(
        parsed(CHECKED_IN) == made,
        "api/openapi.json is out of date: write it with `cargo run -- openapi > api/openapi.json`, and look at the difference"
    );
}

/// Mock servers answer with the examples, and generators make types of unused parts.
#[test]
fn examples_fit_their_schemas_and_every_component_is_used() {
    let document = parsed(CHECKED_IN);
    assert!(check_examples(&document, &mut HashMap::new()) > 100);
    for (kind, parts) in document["components"].as_object().unwrap() {
        for name in parts.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            assert!(CHECKED_IN.contains(&format!("\"#/components/{kind}/{name}\"")), "{kind}/{name}");
        }
    }
}

/// How many examples stand beside their schema in a part of the document; all of them fit.
fn check_examples(part: &Value, validators: &mut HashMap<String, Validator>) -> usize {
    let inner: usize = match part {
        Value::Object(fields) => fields.values().map(|inner| check_examples(inner, validators)).sum(),
        Value::Array(items) => items.iter().map(|inner| check_examples(inner, validators)).sum(),
        _ => 0,
    };
    let (Some(schema), Some(Value::Object(examples))) = (part.get("schema"), part.get("examples")) else {
        return inner;
    };
    let validator = validators.entry(schema.to_string()).or_insert_with(|| compile(schema));
    for example in examples.values() {
        let faults: Vec<String> = validator
            .iter_errors(&example["value"])
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}\n{example}");
    }
    inner + examples.len()
}

#[tokio::test]
async fn openapi_document_is_served_at_both_paths_with_an_etag() {
    let bench = Bench::new().await;
    for path in ["/openapi.json", "/v1/dev/openapi.json"] {
        let answer = bench.get(path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body["info"]["version"], "1.0.0");
        assert_eq!(answer.body, parsed(CHECKED_IN));
        let known = bench.get_known(path, answer.header("etag")).await;
        assert_eq!((known.status.as_u16(), known.body), (304, Value::Null));
    }
}

#[tokio::test]
async fn openapi_document_has_every_route_with_its_methods() {
    let bench = Bench::new().await;
    let document = parsed(CHECKED_IN);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let answer = bench.ask(&bench.key, Method::PUT, &path.replace(['{', '}'], ""), None).await;
        assert_eq!(answer.status, 405, "{path}");
        let mut allowed: Vec<String> = answer.header("allow").split(',').map(str::to_lowercase).collect();
        allowed.retain(|method| method != "head");
        allowed.sort();
        let mut documented: Vec<String> = methods.as_object().unwrap().keys().cloned().collect();
        documented.sort();
        assert_eq!(allowed, documented, "{path}");
    }
}

#[tokio::test]
async fn operations_need_a_key_exactly_where_documented() {
    let bench = Bench::new().await;
    let document = parsed(CHECKED_IN);
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let path = path.replace(['{', '}'], "");
            let anonymous = bench.ask("", method.clone(), &path, None).await;
            let security = operation["security"].as_array().unwrap();
            assert_eq!(anonymous.status == 401, !security.is_empty(), "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn idempotent_routes_accept_quoted_keys_and_mark_replayed_answers() {
    let document = api::document(&api::Settings::default());
    let name =
        jsonschema::validator_for(&document["components"]["parameters"]["IdempotencyKey"]["schema"]).unwrap();
    let longest = "x".repeat(255);
    for right in ["a-name", "\"a-name\"", &longest, &format!("\"{longest}\"")] {
        assert!(name.is_valid(&right.into()), "{right}");
    }
    for wrong in ["", "\"\"", "\"half", "two words", "a\\b", &"x".repeat(256), &format!("\"{longest}x\"")] {
        assert!(!name.is_valid(&wrong.into()), "{wrong}");
    }
    let mut taking = 0;
    for operation in
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        let parameters = operation["parameters"].to_string();
        let takes = parameters.contains("IdempotencyKey");
        taking += usize::from(takes);
        let replayed = &operation["responses"]["200"]["headers"]["Idempotency-Replayed"];
        assert_eq!(replayed.is_object(), takes, "{}", operation["operationId"]);
    }
    assert_eq!(taking, 19);
}

/// The scope that the document names for an operation; `None` where every key may call it.
fn demanded(document: &Value, method: &Method, path: &str) -> Option<String> {
    let operation = &document["paths"][path][method.as_str().to_lowercase()];
    operation["security"][0]["developerKey"][0].as_str().map(str::to_owned)
}

#[tokio::test]
async fn each_route_is_opened_by_its_documented_scope_only() {
    let bench = Bench::new().await;
    let document = parsed(CHECKED_IN);
    for scope in Scope::ALL {
        let key = bench.person("ann", &[*scope]).await;
        // An app's own key opens the other one: `notifications`.
        let operations = crate::isolation::operations().into_iter();
        for (method, path, body) in operations.filter(|(_, path, _)| path != "/v1/integrations/notification")
        {
            // A key may be given what its maker holds, and this one holds little.
            let body = body.map(|body| {
                if path == "/v1/dev/keys" { json!({ "name": "k", "scopes": [scope.as_str()] }) } else { body }
            });
            let answer = bench.ask(&key, method.clone(), &path.replace(['{', '}'], ""), body).await;
            let name = format!("{method} {path} with {scope}");
            assert_ne!(answer.status, 401, "{name}");
            let Some(demanded) = demanded(&document, &method, &path) else {
                assert_ne!(answer.status, 403, "{name}");
                continue;
            };
            let implied = demanded == "folders:read" && *scope == Scope::ConversationsRead;
            if demanded == scope.as_str() || implied {
                assert_ne!(answer.status, 403, "{name}: {:?}", answer.body);
            } else {
                assert_eq!(answer.status, 403, "{name}: {:?}", answer.body);
                assert_eq!(answer.body["detail"], format!("Missing required scope: {demanded}"), "{name}");
            }
        }
    }
}
