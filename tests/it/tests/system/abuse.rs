//! Apps of third parties that misbehave, on the real binary: what is wrong with a manifest is refused whole, and several
//! processes count an app's messages together.

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use testbed::{AppServer, tool};

use crate::client::Client;
use crate::process::Process;
use crate::world::World;

/// An app of the server's, saved with this manifest.
async fn saved(client: &Client, server: &AppServer, manifest: &str) -> (StatusCode, Value) {
    let app = json!({"name": "Hostile", "home_url": server.url("/"), "manifest_url": server.url(manifest)});
    client.ask(Method::POST, "/v1/apps", Some(&app)).await
}

/// What is said to be wrong with the manifest, without the places of the body.
fn problems((status, answer): (StatusCode, Value)) -> String {
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let problems = answer["detail"].as_array().expect("problems").iter();
    let said = problems.map(|problem| {
        assert_eq!(problem["loc"], json!(["body", "manifest_url"]), "{problem}");
        problem["msg"].as_str().expect("words").to_owned()
    });
    said.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn invalid_manifest_creates_no_app() {
    let (world, server) = (World::new().await, AppServer::start().await);
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    for how in ["missing", "redirect", "huge", "html", "list", "gzip", "slow"] {
        let said = problems(saved(&client, &server, &format!("/manifest/{how}")).await);
        assert!(!said.is_empty() && said.lines().count() == 1, "{how}: {said}");
        assert!(!said.contains("<html>"), "what a server said is not repeated: {said}");
    }
    let parameters = |properties: Value| json!({"parameters": {"properties": properties}});
    let with = |change: Value| {
        let mut tool = tool("a");
        for (name, value) in change.as_object().cloned().unwrap_or_else(Map::new) {
            tool[name] = value;
        }
        vec![tool]
    };
    let reserved = json!({"uid": {"type": "string"}, "geolocation": {"type": "object"}});
    for (tools, words) in [
        ((0..1_000).map(|number| tool(&format!("t{number}"))).collect(), "at most 64 tools"),
        (vec![tool("a"), tool("a")], "tools[1].name: another tool is called \"a\""),
        (with(parameters(reserved)), "a field that every call holds"),
        (with(json!({"name": 7})), "tools[0].name: must be a string"),
        (with(json!({"endpoint": "http://10.0.0.1/steal"})), "must be an https URL of a public address"),
        (with(json!({"endpoint": "//elsewhere.example/steal"})), "must stay on the origin of home_url"),
        (with(json!({"method": "CONNECT"})), "tools[0].method"),
        (with(parameters(json!({"p": {"type": "string", "pattern": "^(a+)+$("}}))), "is not a JSON Schema"),
    ] {
        server.set_manifest(&json!({ "tools": tools }));
        let said = problems(saved(&client, &server, "/manifest.json").await);
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(world.count("select count(*) from apps").await, 0, "no app was made");

    server.take_received();
    let strict = Process::serve(&world.url, &[("LISTEN_ALLOW_OUTGOING", "192.0.2.0/24")]).await;
    let (status, answer) = saved(&world.client(&strict), &server, "/manifest.json").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert!(server.take_received().is_empty(), "an address of the inside is not even asked");
}

#[tokio::test]
async fn notification_limit_holds_for_concurrent_messages_in_three_processes() {
    let (world, server) = (World::new().await, AppServer::start().await);
    let first = Process::serve(&world.url, &[]).await;
    let (second, third) = (Process::serve(&world.url, &[]).await, Process::serve(&world.url, &[]).await);
    let client = world.client(&first);
    server.set_manifest(&json!({"tools": [], "chat_messages": {"enabled": true, "target": "main"}}));
    let (status, app) = saved(&client, &server, "/manifest.json").await;
    assert!(status.is_success(), "{app}");
    let id = app["id"].as_str().expect("an app has an id");
    let (status, _) = client.ask(Method::POST, &format!("/v1/apps/enable?app_id={id}"), None).await;
    assert!(status.is_success());
    let (_, key) = client.ask(Method::POST, &format!("/v1/apps/{id}/keys"), Some(&json!({}))).await;
    let key = key["secret"].as_str().expect("a key is shown once");
    let message = json!({"uid": "u1", "aid": id, "message": "Your list grew."});

    let writers: Vec<Client> = [&first, &second, &third]
        .iter()
        .flat_map(|process| (0..4).map(|_| Client::new(&process.api, key)))
        .collect();
    let asked = writers
        .iter()
        .map(|writer| writer.ask(Method::POST, "/v1/integrations/notification", Some(&message)));
    let answers: Vec<StatusCode> = join_all(asked).await.into_iter().map(|(status, _)| status).collect();
    let of = |wanted: u16| answers.iter().filter(|status| status.as_u16() == wanted).count();
    assert_eq!((of(200), of(429)), (10, 2), "{answers:?}");
    assert_eq!(world.count("select count(*) from chat_messages where sender = 'app'").await, 10);

    let stranger = json!({"uid": "nobody", "aid": id, "message": "Hello?"});
    let (status, refusal) =
        writers[0].ask(Method::POST, "/v1/integrations/notification", Some(&stranger)).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refusal}");
    let with_a_users_key = client.ask(Method::POST, "/v1/integrations/notification", Some(&message)).await;
    assert_eq!(with_a_users_key.0, StatusCode::UNAUTHORIZED);
    let (status, _) = writers[0].ask(Method::GET, "/v2/messages", None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "an app's key reads nothing of a user's");
}
