//! Credentials for the task queue.

use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use task_queue::Options;
use tokio::net::TcpListener;

use crate::binary;
use crate::process::{Process, until};
use crate::queue::Queue;
use crate::world::{GARDEN, World};

/// What the metadata server of this machine gives out.
const ACCESS_TOKEN: &str = "ya29.of-this-process";

/// A metadata server with one service account; where it is.
async fn metadata_server() -> String {
    let token = async |headers: HeaderMap| {
        assert_eq!(headers.get("metadata-flavor").map(|value| value.as_bytes()), Some(b"Google".as_slice()));
        Json(json!({ "access_token": ACCESS_TOKEN, "expires_in": 3_599, "token_type": "Bearer" }))
    };
    let account = "/computeMetadata/v1/instance/service-accounts/default";
    let router = Router::new()
        .route(&format!("{account}/token"), get(token))
        .route("/computeMetadata/v1/universe/universe-domain", get(async || "googleapis.com"));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let addr = listener.local_addr().expect("it has an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    addr.to_string()
}

#[tokio::test]
async fn task_queue_uses_the_metadata_servers_token() {
    let world = World::new().await;
    let options = Options { access_token: Some(ACCESS_TOKEN.to_owned()), ..Options::default() };
    let queue = Queue::start(options).await;
    let metadata = metadata_server().await;
    let google = ("LISTEN_FINALIZATION_TASKS_CREDENTIALS", "google");
    let here = [google, ("GCE_METADATA_HOST", metadata.as_str()), ("HOME", "/nonexistent")];
    let process = Process::serve(&world.url, &queue.taking(&here)).await;
    let client = world.client(&process);

    let id = client.admit(GARDEN).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    assert_eq!(queue.emulator.created(), 1);
    assert!(!process.logs().contains(ACCESS_TOKEN));
}

#[tokio::test]
async fn task_queue_refused_token_is_logged_and_loses_nothing() {
    let world = World::new().await;
    let options = Options { access_token: Some("another".to_owned()), ..Options::default() };
    let queue = Queue::start(options).await;
    let mut process = Process::serve(&world.url, &queue.taking(&[])).await;

    world.client(&process).admit(GARDEN).await;

    let line = process.line("the task queue refuses tasks; they are handed over later", |_| true).await;
    assert_eq!(line["status"], json!(401), "{line}");
    assert!(
        line["remedy"].as_str().expect("words").contains("LISTEN_FINALIZATION_TASKS_CREDENTIALS"),
        "{line}"
    );
    let waits = "select count(*) from finalization_jobs where status = 'queued' and hand_after > now()";
    until(async || world.count(waits).await == 1).await;
    assert_eq!(binary::the_job(&world.url)["attempts"], json!(0));
}
