//! The document: is it the one that is checked in, and does it know every route?

use api::Scope;
use axum::http::Method;
use serde_json::Value;

use crate::bench::Bench;

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
async fn every_operation_enforces_its_documented_key_and_scope() {
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
            let Some(scope) = security.first().and_then(|one| one["developerKey"][0].as_str()) else {
                continue;
            };
            let wanted = Scope::from_name(scope).unwrap();
            let is_other = |held: &Scope| {
                *held != wanted && !(wanted == Scope::FoldersRead && *held == Scope::ConversationsRead)
            };
            let others: Vec<Scope> = Scope::ALL.iter().copied().filter(is_other).collect();
            let key = bench.person("ann", &others).await;
            let refused = bench.ask(&key, method.clone(), &path, None).await;
            assert_eq!(refused.status, 403, "{method} {path}");
            assert_eq!(refused.body["detail"], format!("Missing required scope: {scope}"));
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
