//! Timeouts of request bodies and of calls to app servers.

use std::time::Duration;

use api::Settings;
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    apps,
    bench::{Bench, P, quick},
};

/// Too short to wait for in a test, long enough that what is sent at once arrives.
fn impatient() -> Settings {
    Settings { body_wait: Duration::from_millis(300), ..quick() }
}

#[tokio::test]
async fn body_that_never_ends_is_408_on_every_reader() {
    let bench = Bench::with(impatient()).await;
    for name in [None, Some("n")] {
        let mut request = Request::post(format!("{P}/memories"))
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json");
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        let silent = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let answer = bench.send(request.body(silent).unwrap()).await;
        assert_eq!(answer.status, 408);
        assert_eq!(answer.body, json!({ "detail": "Request body took too long" }));
        assert_eq!(answer.header("connection"), "close");
    }
}

#[tokio::test]
async fn stalled_body_is_answered_and_its_connection_closed() {
    let bench = Bench::with(impatient()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = bench.app.clone();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut line = TcpStream::connect(address).await.unwrap();
    let begun = format!(
        "POST {P}/memories HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{",
        bench.key
    );
    line.write_all(begun.as_bytes()).await.unwrap();
    let mut said = String::new();
    line.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{said}");
    assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
    assert!(said.contains(r#"{"detail":"Request body took too long","code":"body_too_slow","#), "{said}");
}

#[tokio::test]
async fn app_server_calls_may_take_longer_than_database_calls() {
    let servers = apps::Servers::new();
    let settings = Settings { database_wait: Duration::from_secs(2), ..apps::settings(&servers) };
    let bench = Bench::with(settings).await;
    servers.take(Duration::from_secs(3));
    let new = json!({
        "name": "Tasks", "home_url": "https://tasks.example", "manifest_url": "https://tasks.example/tools.json",
    });
    let made = bench.post("/v1/apps", new).await;
    assert_eq!(made.status, 200, "{made:?}");
    let one = format!("/v1/apps/{}", made.body["id"].as_str().unwrap());
    let changed = bench.ask(&bench.key, Method::PATCH, &one, Some(json!({ "name": "Slow" }))).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let refreshed = bench.ask(&bench.key, Method::POST, &format!("{one}/refresh-manifest"), None).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
}
