//! MCP servers of apps, well-behaved and misbehaving.

use std::time::Duration;

use apps::{Answered, Manifest, ToolFailure};
use outside::{Caller, Failure, Guard, Heard, Url};
use prometheus::Registry;
use secrecy::SecretString;
use serde_json::{Value, json};
use store::{AppFields, KeptManifest, NewApp};
use testbed::AppServer;
use worker::{McpFailure, McpServer, Metrics, Tools};

use crate::bench::Bench;

const APP: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";

fn caller(allow: &[&str]) -> Caller {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Caller::new(Guard::new(allow.iter().map(|range| range.parse().unwrap()).collect())).unwrap()
}

async fn listed(server: &AppServer, how: &str, caller: &Caller) -> Result<Vec<Value>, McpFailure> {
    let token = SecretString::from("t0ken");
    let mcp = McpServer {
        caller,
        user: "kim",
        url: Url::parse(&server.url(&format!("/mcp/{how}"))).unwrap(),
        token: Some(&token),
        timeout: if how == "slow" { Duration::from_millis(300) } else { Duration::from_secs(30) },
        max_bytes: 256 * 1_024,
    };
    mcp.tools().await
}

#[tokio::test]
async fn mcp_tools_are_listed_by_page_in_a_closed_session() {
    let (server, caller) = (AppServer::start().await, caller(&["127.0.0.0/8"]));
    for how in ["json", "stream", "stateless"] {
        let tools = listed(&server, how, &caller).await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["add_note", "echo", "hangs"], "{how}");
        let received = server.take_received();
        let ends = usize::from(how != "stateless");
        assert_eq!(received.len(), 4 + ends, "{how}: initialize, initialized, two pages, and the end");
        for (nth, one) in received.iter().enumerate() {
            let has = |name: &str| one.headers.get(name).map(|value| value.to_str().unwrap());
            assert_eq!(has("authorization"), Some("Bearer t0ken"));
            assert_eq!(has("mcp-protocol-version"), (nth > 0).then_some("2025-03-26"));
            assert_eq!(has("mcp-session-id"), (nth > 0 && ends > 0).then_some("session-7"));
        }
        assert_eq!(received.last().unwrap().method, if ends > 0 { "DELETE" } else { "POST" });
    }
}

#[tokio::test]
async fn mcp_misbehaving_server_lists_nothing_in_bounded_time() {
    let (server, local) = (AppServer::start().await, caller(&["127.0.0.0/8"]));
    let heard = |heard| Err(McpFailure::Heard(heard));
    let status = |status| Heard::Answer { status, body: Vec::new() };
    for (how, expected) in [
        ("slow", heard(Heard::Failed(Failure::Timeout))),
        ("redirect", heard(status(307))),
        ("html", Err(McpFailure::Malformed)),
        ("endless", Err(McpFailure::Malformed)),
        ("huge", heard(Heard::TooLong)),
        ("long", heard(Heard::TooLong)),
        ("stranger", heard(status(401))),
        ("refuses", Err(McpFailure::Refused("Wrong token […]".to_owned()))),
    ] {
        assert_eq!(listed(&server, how, &local).await, expected, "{how}");
    }
    assert_eq!(listed(&server, "many", &local).await.unwrap().len(), 65, "one more than an app may have");
    let wide = listed(&server, "wide", &local).await.unwrap();
    assert!(wide.len() == 4 && wide.iter().all(|tool| tool.get("outputSchema").is_none()), "{wide:?}");
    server.take_received();
    assert_eq!(listed(&server, "json", &caller(&[])).await, heard(Heard::Failed(Failure::Refused)));
    assert!(server.take_received().is_empty(), "an inner address is not called");
}

#[tokio::test]
async fn mcp_tool_call_sends_arguments_user_and_token() {
    let (bench, server) = (Bench::new().await, AppServer::start().await);
    let url = server.url("/mcp/json");
    let tool = |name: &str| {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        json!({ "name": name, "inputSchema": schema })
    };
    let mut manifest = Manifest::default();
    let names = ["add_note", "echo", "hangs"];
    apps::add_mcp_tools(&mut manifest, &url, &names.map(tool)).unwrap();
    let kept = KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: false,
        chat_target: "app",
        chat_notify: false,
    };
    let fields = AppFields { name: "Notes".to_owned(), mcp_url: Some(url), ..AppFields::default() };
    let mcp_token = Some(SecretString::from("t0ken"));
    let new = NewApp {
        id: APP.to_owned(),
        fields,
        mcp_token,
        manifest: Some(kept),
        secret: outside::new_secret([7; 32]),
    };
    bench.ledger.store().create_app(&bench.user, &new).await.unwrap().unwrap();
    bench.ledger.store().install_app(&bench.user, APP).await.unwrap().unwrap();
    let tools = |seconds| {
        let metrics = Metrics::new(&Registry::new()).unwrap();
        Tools::new(bench.ledger.clone(), caller(&["127.0.0.0/8"]), seconds, metrics, 7)
    };
    let call = async |seconds, name: &str, arguments: Value| {
        tools(seconds).call(&bench.user, APP, name, arguments.as_object().unwrap()).await
    };
    let long = Duration::from_secs(30);

    let noted = call(long, "add_note", json!({ "text": "call Tom" })).await;
    assert_eq!(noted, Answered::Result("noted {\"text\":\"call Tom\"} for \"kim\"".to_owned()));
    let received = server.take_received();
    assert_eq!(received.len(), 4, "initialize, initialized, the call once, the end");
    assert!(received.iter().all(|one| one.headers["authorization"] == "Bearer t0ken"));
    let masked = "failed with key […]".to_owned();
    assert_eq!(call(long, "echo", json!({})).await, Answered::AppError { text: masked, setup_url: None });
    server.take_received();

    let wrong = call(long, "add_note", json!({ "text": 7 })).await;
    assert_eq!(wrong, Answered::BadArguments(vec!["text: breaks the rule `type`".to_owned()]));
    assert!(server.take_received().is_empty(), "nothing is sent");
    let hung = call(Duration::from_millis(500), "hangs", json!({})).await;
    assert_eq!(hung, Answered::Failed(ToolFailure::Timeout));
}
