//! Closing a live session: what is stored, and which frames close it.

use std::time::Duration;

use futures::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use super::client::{LiveClient, Setup, serve};
use crate::bench::quick;

async fn until_none_is_left(setup: &Setup, sql: &'static str) {
    for _ in 0..3_000 {
        if setup.count(sql).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still there: {sql}");
}

#[tokio::test]
async fn live_empty_conversation_is_deleted_on_close_and_others_await_timeout() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["Kept."], 0.0).await;
    line.until("segments").await;
    let mut silent = setup.line("client_device_id=other").await.ready().await;
    until_none_is_left(&setup, "select 2 - count(*) from conversations").await;
    silent.socket.close(None).await.unwrap();
    drop(line);
    until_none_is_left(&setup, "select count(*) from conversations where live_process is not null").await;
    let id = setup.id_in_progress().await;
    assert_eq!(setup.count("select count(*) from conversations").await, 1);
    assert_eq!(setup.texts(&id).await, ["Kept."]);
}

#[tokio::test]
async fn live_segments_sent_just_before_close_are_stored() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["One."], 0.0).await;
    line.until("segments").await;
    line.say(&["Two."], 1.0).await;
    line.socket.close(None).await.unwrap();
    let stored = "select 1 - count(*) from transcript_segments where content = 'One. Two.'";
    until_none_is_left(&setup, stored).await;
}

#[tokio::test]
async fn live_frames_over_the_size_limit_close_the_socket() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send_bytes(vec![0; 64 * 1_024 + 1]).await;
    assert_eq!(line.closed().await, 1009);
    let mut line = setup.line("custom_stt=enabled&client_device_id=b").await.ready().await;
    let long = json!({ "type": "suggested_transcript", "text": "w".repeat(70_000) });
    line.send(long).await;
    assert_eq!(line.closed().await, 1009);
    let mut line = setup.line("custom_stt=enabled&client_device_id=c").await.ready().await;
    let huge: Value = json!({ "x": "w".repeat(1_000_000) });
    line.send(huge).await;
    // More than the service reads of one frame: what is left unread resets the connection, which may overtake the close frame.
    assert!([1006, 1009].contains(&line.closed().await));
}

/// A client that sent an invalid frame got close code 1000, as if it had closed the socket itself.
#[tokio::test]
async fn live_invalid_frames_close_the_socket_with_1002() {
    let setup = Setup::new().await;
    let not_utf8 = Frame::message(vec![0xff], OpCode::Data(Data::Text), true);
    let mut reserved = Frame::message("words", OpCode::Data(Data::Text), true);
    reserved.header_mut().rsv1 = true;
    for frame in [not_utf8, reserved] {
        let mut line = setup.line("custom_stt=enabled").await.ready().await;
        line.socket.send(Message::Frame(frame)).await.unwrap();
        assert_eq!(line.closed().await, 1002);
    }
}

/// The socket was dropped without a close frame (1006): the client connected again at once and sent the same.
#[tokio::test]
async fn live_client_reads_the_close_code_of_a_session_that_could_not_be_stored_in_time() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["Said."], 0.0).await;
    line.until("segments").await;
    let held = setup.bench.database.hold_locks("lock table conversations in access exclusive mode").await;
    line.send_bytes(vec![0; 64 * 1_024 + 1]).await;
    assert_eq!(line.closed().await, 1009);
    drop(held);
}

#[tokio::test]
async fn live_chunked_picture_is_stored_and_keeps_its_conversation() {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let setup = Setup::new().await;
    let mut line = setup.line("").await.ready().await;
    let picture = BASE64_STANDARD.encode([b"\xff\xd8\xff".as_slice(), &[7; 9_000]].concat());
    let (one, two) = picture.split_at(6_000);
    for (index, data) in [(1, two), (0, one)] {
        line.send(json!({ "type": "image_chunk", "id": "p1", "index": index, "total": 2, "data": data }))
            .await;
    }
    assert_eq!(line.until("photo_processing").await["photo_id"], "p1");
    line.socket.close(None).await.unwrap();
    until_none_is_left(&setup, "select 1 - count(*) from photos").await;
    until_none_is_left(&setup, "select count(*) from conversations where live_process is not null").await;
    let id = setup.id_in_progress().await;
    assert_eq!(setup.status_of(&id).await, "in_progress");
    let path = format!("/v1/dev/user/conversations/{id}");
    assert!(setup.bench.get(&path).await.body.get("photos").is_none());
    let shown = setup.bench.get(&format!("{path}?include_photos=true")).await.body;
    assert_eq!((&shown["photos"][0]["id"], &shown["photos"][0]["base64"]), (&json!("p1"), &json!(picture)));
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200, "it has content");
    setup.bench.ask(&setup.bench.key, axum::http::Method::DELETE, &path, None).await;
    assert_eq!(setup.count("select count(*) from photos").await, 0, "deleted with its conversation");
}

/// What the service closed by itself was counted as closed by its client.
#[tokio::test]
async fn live_sockets_are_counted_by_why_they_were_closed() {
    let setup = Setup::new().await;
    let registry = prometheus::Registry::new();
    let metrics = api::Metrics::register(&registry).unwrap();
    let check: api::CheckUrl = std::sync::Arc::new(|_| true);
    let addr = serve(api::router(setup.bench.ledger.clone(), check, quick(), metrics)).await;
    let path = "/v4/listen?uid=ann&custom_stt=enabled";
    let mut line = LiveClient::open(addr, path, Some(&setup.bench.key), &[]).await.unwrap().ready().await;
    setup.bench.run("delete from users where user_id = 'ann'").await;
    line.say(&["Said by a user who is gone."], 0.0).await;
    assert_eq!(line.closed().await, 1008);
    let counted = |reason: &str| {
        let families = registry.gather();
        let closed = families.iter().find(|family| family.name() == "listen_live_closed_total").unwrap();
        let of_reason = closed.get_metric().iter().find(|metric| metric.get_label()[0].value() == reason);
        of_reason.unwrap().get_counter().get_value()
    };
    for _ in 0..3_000 {
        if counted("refused") + counted("client") > 0.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!((counted("refused"), counted("client")), (1.0, 0.0));
}
