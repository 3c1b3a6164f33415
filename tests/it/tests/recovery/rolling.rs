//! Rolling update under load: no request fails, and no admitted job is lost. `LISTEN_OTHER_BINARY` names another version, to
//! which the processes are upgraded and back.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;
use testbed::TestDatabase;
use tokio::time::sleep;

use crate::balancer::Balancer;
use crate::binary::{self, command, printed};
use crate::client::{Client, deferred};
use crate::process::{Process, until};

const SETTINGS: [(&str, &str); 2] = [("LISTEN_DRAIN_SECONDS", "1"), ("LISTEN_RATE_PER_MINUTE", "0")];

/// Reads and writes until it is to stop; every answer must be a success. Each request is a connection of its own.
async fn load(base: String, key: String, stop: Arc<AtomicBool>, requests: Arc<AtomicUsize>) -> Vec<String> {
    let mut admitted = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let client = || Client::new(&base, &key);
        let body = deferred(&["Let's plan the garden for spring.", "I will order new roof tiles by Friday."]);
        let path = "/v1/dev/user/conversations/from-segments";
        let (status, made) = client().ask(Method::POST, path, Some(&body)).await;
        assert!(status.is_success(), "{path}: {status} {made}");
        let id = made["id"].as_str().expect("an id").to_owned();
        let path = format!("/v1/conversations/{id}/finalize");
        let (status, answer) = client().ask(Method::POST, &path, Some(&json!({}))).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        let path = format!("/v1/conversations/{id}/finalization");
        let (status, answer) = client().ask(Method::GET, &path, None).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        requests.fetch_add(3, Ordering::Relaxed);
        admitted.push(id);
    }
    admitted
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a quarter of a minute; nightly"]
async fn rolling_update_under_load_fails_no_request() {
    let database = TestDatabase::new().await;
    let url = database.url();
    printed(&url, &["users", "create", "--id", "u1"]);
    let key = printed(&url, &["keys", "create", "--user", "u1"]);
    let balancer = Balancer::start().await;
    let mut processes = Vec::new();
    for _ in 0..2 {
        let process = Process::serve(&url, &SETTINGS).await;
        balancer.add(&process);
        processes.push(process);
    }
    until(async || balancer.ready() == 2).await;

    let (stop, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let base = format!("http://{}", balancer.addr);
    let clients: Vec<_> = (0..4)
        .map(|_| tokio::spawn(load(base.clone(), key.clone(), stop.clone(), requests.clone())))
        .collect();
    // There and back: each process twice. Whichever version knows more of the schema has migrated before.
    let own = binary::path().clone();
    let other = std::env::var_os("LISTEN_OTHER_BINARY").map_or_else(|| own.clone(), PathBuf::from);
    let migrated = Command::new(&other).arg("migrate").env("DATABASE_URL", &url).output();
    assert!(migrated.is_ok_and(|ended| ended.status.success()), "{} cannot migrate", other.display());
    for version in [other, own] {
        for _ in 0..2 {
            let newer = Process::of(&version, &url, &SETTINGS).await;
            balancer.add(&newer);
            until(async || balancer.ready() == 3).await;
            let mut older = processes.remove(0);
            older.signal(Signal::TERM);
            let ended = older.ended().await;
            assert!(ended.success(), "{ended}: {}", older.logs());
            balancer.remove(&older);
            processes.push(newer);
        }
    }
    sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::Relaxed);

    let mut admitted = Vec::new();
    for client in clients {
        admitted.extend(client.await.expect("no request of it failed"));
    }
    let requests = requests.load(Ordering::Relaxed);
    println!("{requests} requests, none failed; {} conversations", admitted.len());
    assert!(requests > 100, "there was load: {requests}");
    let client = Client::new(&processes[0].api, &key);
    for id in &admitted {
        assert_eq!(client.finished(id).await["status"], "completed");
    }
    let verified = command(&url, &["verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
