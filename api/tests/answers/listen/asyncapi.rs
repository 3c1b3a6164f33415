//! The AsyncAPI document: do real frames match it?

use serde_json::{Value, json};

use super::client::Setup;

/// The schema of a component, with all others as definitions.
fn schema(document: &Value, name: &str) -> jsonschema::Validator {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": document["components"],
    });
    jsonschema::validator_for(&schema).unwrap()
}

#[tokio::test]
async fn asyncapi_document_describes_the_frames_that_are_sent() {
    let setup = Setup::new().await;
    let served = setup.bench.get("/asyncapi.json").await;
    assert_eq!((served.status.as_u16(), served.header("content-type")), (200, "application/json"));
    let (of_service, of_client) = (schema(&served.body, "ServerFrame"), schema(&served.body, "ClientFrame"));
    let query = "custom_stt=enabled&conversation_timeout=2";
    let mut line = setup.line(query).await;
    let said = json!({ "type": "suggested_transcript", "segments": [
        { "id": "one", "text": "Buy milk tomorrow.", "start": 0.0, "end": 1.0, "is_user": true },
    ] });
    assert!(of_client.is_valid(&said));
    line.send(said).await;
    let mut kinds = Vec::new();
    while !kinds.contains(&"memory_processing_started".to_owned()) {
        let frame = line.next().await.unwrap();
        assert!(of_service.is_valid(&frame), "{frame}");
        kinds.push(frame["type"].as_str().unwrap_or("segments").to_owned());
    }
    for kind in ["service_status", "conversation_session", "segments"] {
        assert!(kinds.iter().any(|seen| seen == kind), "{kind} in {kinds:?}");
    }
    for wrong in [json!({ "type": "service_status" }), json!([{ "id": "one" }]), json!([])] {
        assert!(!of_service.is_valid(&wrong), "{wrong}");
    }
    assert!(!of_client.is_valid(&json!({ "type": "suggested_transcript" })));
}

#[tokio::test]
async fn asyncapi_references_resolve_and_the_host_is_a_variable() {
    let document = Setup::new().await.bench.get("/asyncapi.json").await.body;
    let server = &document["servers"]["this"];
    assert_eq!(
        (server["host"].as_str(), &server["variables"]["host"]["default"]),
        (Some("{host}"), &json!("127.0.0.1:8080"))
    );
    let text = document.to_string();
    let references: Vec<&str> =
        text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(references.len() > 30);
    for pointer in references {
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
