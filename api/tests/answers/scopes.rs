//! Every route of the document with every scope: the one that it names opens it, and no other does.

use api::Scope;
use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::document::{CHECKED_IN, parsed};

/// The scopes that open an operation; none: every key does.
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
