//! Opening a live session: authentication, limits, refusals, and resuming on another process.

use api::{LiveSettings, Scope};
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::client::{LiveClient, Setup, serve};
use crate::bench::{four_shards, person_in, quick, service};

#[tokio::test]
async fn live_upgrade_is_refused_with_every_error() {
    let setup = Setup::new().await;
    let key = setup.bench.key.clone();
    assert_eq!(setup.refusal("lsk_wrong", "uid=ann").await.0, 401);
    let reader = setup.bench.person("ann", &[Scope::ConversationsRead]).await;
    let (status, body) = setup.refusal(&reader, "uid=ann").await;
    assert_eq!((status, &body["detail"]), (403, &json!("Missing required scope: conversations:write")));
    assert_eq!(setup.refusal(&key, "uid=bob").await.0, 403);
    let (status, body) = setup.refusal(&key, "language=english&codec=mp3").await;
    assert_eq!(status, 422);
    let named: Vec<&Value> =
        body["detail"].as_array().unwrap().iter().map(|problem| &problem["loc"]).collect();
    assert_eq!(named, [&json!(["query", "uid"]), &json!(["query", "language"]), &json!(["query", "codec"])]);
    let plain = setup.bench.get("/v4/listen?uid=ann").await;
    assert_eq!(plain.status, StatusCode::UPGRADE_REQUIRED);
    let no_key = setup.bench.ask("", axum::http::Method::GET, "/v4/listen?uid=ann", None).await;
    assert_eq!(no_key.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn live_session_reports_its_start_up_and_a_missing_engine() {
    let setup = Setup::new().await;
    let mut line = setup.line("").await;
    let mut said = Vec::new();
    while said.last() != Some(&json!("ready")) {
        let frame = line.until("service_status").await;
        assert!(frame["status_text"].is_string());
        said.push(frame["status"].clone());
        if frame["status"] == "stt_failed" {
            assert_eq!((&frame["reason"], &frame["retryable"]), (&json!("no_speech_engine"), &json!(false)));
        }
    }
    assert_eq!(said, ["initiating", "in_progress_conversations_processing", "stt_failed", "ready"]);
}

#[tokio::test]
async fn live_sessions_are_limited_per_user_and_process() {
    let live = LiveSettings { sessions: 4, ..LiveSettings::default() };
    let setup = Setup::with(api::Settings { live, ..quick() }).await;
    let key = setup.bench.key.clone();
    let mut lines = Vec::new();
    for device in ["a", "b", "c"] {
        lines.push(setup.line(&format!("client_device_id={device}")).await.ready().await);
    }
    assert_eq!(setup.refusal(&key, "uid=ann").await.0, 429);
    let bob = setup.bench.person("bob", Scope::ALL).await;
    let _bobs = setup.try_connect(&bob, "uid=bob", &[]).await.unwrap().ready().await;
    assert_eq!(setup.refusal(&bob, "uid=bob").await.0, 503);
    drop(lines);
    for _ in 0..3_000 {
        if setup.try_connect(&key, "uid=ann", &[]).await.is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("a place that was given back is not taken");
}

#[tokio::test]
async fn live_browser_authenticates_in_its_first_message() {
    let setup = Setup::new().await;
    let path = "/v4/web/listen?uid=ann&custom_stt=enabled";
    let mut line = LiveClient::open(setup.addr, path, None, &[]).await.unwrap();
    line.send(json!({ "type": "auth", "token": setup.bench.key })).await;
    assert_eq!(line.next().await.unwrap(), json!({ "type": "auth_response", "success": true }));
    let mut line = line.ready().await;
    line.say(&["Hello from a browser."], 0.0).await;
    assert_eq!(line.until("segments").await[0]["text"], "Hello from a browser.");
    for first in [
        json!({ "type": "auth", "token": "lsk_wrong" }),
        json!({ "type": "suggested_transcript", "segments": [] }),
        json!("auth"),
    ] {
        let mut line = LiveClient::open(setup.addr, path, None, &[]).await.unwrap();
        line.send(first).await;
        assert_eq!(line.closed().await, 1008);
    }
    let mut other = LiveClient::open(setup.addr, "/v4/web/listen?uid=bob", None, &[]).await.unwrap();
    other.send(json!({ "type": "auth", "token": setup.bench.key })).await;
    assert_eq!(other.closed().await, 1008);
    assert_eq!(setup.count("select count(*) from conversations").await, 1);
}

#[tokio::test]
async fn live_browser_message_routes_to_the_shard_of_its_key() {
    let (_database, shards) = four_shards().await;
    let addr = serve(service(shards.clone(), quick())).await;
    for user in ["user-0", "user-1", "user-2", "user-3", "user-4", "user-5"] {
        let ledger = shards.of_user(&records::UserId::new(user));
        let key = person_in(ledger, user, api::Scope::ALL, ledger.db().shard()).await;
        let path = format!("/v4/web/listen?uid={user}&custom_stt=enabled");
        let mut line = LiveClient::open(addr, &path, None, &[]).await.unwrap();
        line.send(json!({ "type": "auth", "token": key })).await;
        assert_eq!(line.next().await.unwrap(), json!({ "type": "auth_response", "success": true }));
        let mut line = line.ready().await;
        line.say(&["Hello from a browser."], 0.0).await;
        line.until("segments").await;
        let live = ledger.store().list_live(Some(user), 9).await.unwrap();
        assert_eq!(live.len(), 1, "{user}");
    }
}

#[tokio::test]
async fn live_sessions_end_when_their_key_is_revoked() {
    let every = std::time::Duration::from_millis(50);
    assert!(LiveSettings::default().key_checked_every < std::time::Duration::from_secs(60));
    let live = LiveSettings { key_checked_every: every, ..LiveSettings::default() };
    let setup = Setup::with(api::Settings { live, ..quick() }).await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["This is kept."], 0.0).await;
    line.until("segments").await;
    setup.bench.run("update developer_keys set revoked_at = now()").await;
    assert_eq!(line.closed().await, 1008);
    assert_eq!(setup.count("select count(*) from conversations where status = 'in_progress'").await, 1);
}

#[tokio::test]
async fn live_session_is_read_while_its_key_cannot_be_looked_up() {
    let every = std::time::Duration::from_millis(50);
    let live = LiveSettings { key_checked_every: every, ..LiveSettings::default() };
    let setup = Setup::with(api::Settings { live, ..quick() }).await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    let held = setup.bench.database.hold_locks("lock table developer_keys in access exclusive mode").await;
    setup.bench.database.until_as_many_wait(1).await;
    for number in 0..3 {
        line.say(&["Said meanwhile."], f64::from(number) * 40.0).await;
        line.until("segments").await;
    }
    drop(held);
}

#[tokio::test]
async fn live_session_of_a_deleted_user_stores_nothing() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["First."], 0.0).await;
    line.until("segments").await;
    setup.bench.run("delete from users where user_id = 'ann'").await;
    line.say(&["Second."], 2.0).await;
    assert_eq!(line.closed().await, 1008);
    assert_eq!(setup.count("select count(*) from conversations").await, 0);
}

#[tokio::test]
async fn live_shutdown_notifies_clients_and_another_process_resumes() {
    let setup = Setup::new().await;
    let live = LiveSettings::default();
    let (stop, hard) =
        (tokio_util::sync::CancellationToken::new(), tokio_util::sync::CancellationToken::new());
    let running = tokio::spawn(live.live.clone().run(stop.clone(), hard));
    let check: api::CheckUrl = std::sync::Arc::new(|_| true);
    let metrics = api::Metrics::register(&prometheus::Registry::new()).unwrap();
    let other = ledger::Ledger::new(setup.bench.database.options(), crate::bench::few_connections());
    let app = api::router(other, check, api::Settings { live, ..quick() }, metrics);
    let addr = serve(app).await;
    let path = "/v4/listen?uid=ann&custom_stt=enabled";
    let mut line = LiveClient::open(addr, path, Some(&setup.bench.key), &[]).await.unwrap().ready().await;
    line.say(&["Said to the old process."], 0.0).await;
    line.until("segments").await;
    let id = setup.id_in_progress().await;
    line.say(&["Said at the last moment."], 40.0).await;
    stop.cancel();
    while line.until("service_status").await["status"] != "restarting" {}
    assert_eq!(line.closed().await, 1012);
    running.await.unwrap();
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["Said to the new one."], 0.0).await;
    line.until("segments").await;
    let texts = setup.texts(&id).await;
    assert_eq!(texts.first().map(String::as_str), Some("Said to the old process."));
    assert!(texts.iter().any(|text| text.contains("new one")), "{texts:?}");
}
