//! The lifecycle of a live conversation: segments, silence, end requests, reconnects.

use std::time::Duration;

use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::client::Setup;
use crate::bench::P;

#[tokio::test]
async fn live_segments_are_stored_shown_and_processed_after_silence() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled&conversation_timeout=5&language=multi").await.ready().await;
    line.say(&["Buy milk", "and bread tomorrow."], 100.0).await;
    let shown = line.until("segments").await;
    assert_eq!(shown.as_array().unwrap().len(), 1, "one speaker, one segment: {shown}");
    let segment = &shown[0];
    assert_eq!(segment["text"], "Buy milk and bread tomorrow.");
    assert_eq!((&segment["speaker"], &segment["speaker_id"]), (&json!("SPEAKER_00"), &json!(0)));
    assert_eq!((&segment["start"], &segment["end"]), (&json!(0.0), &json!(2.0)));
    assert_eq!((&segment["is_user"], &segment["stt_provider"]), (&json!(true), &json!("client")));
    let id = setup.id_in_progress().await;
    line.say(&["Thank you."], 103.0).await;
    let grown = line.until("segments").await;
    assert_eq!(grown[0]["id"], segment["id"], "it comes again under its id");
    assert_eq!(grown[0]["text"], "Buy milk and bread tomorrow. Thank you.");
    assert_eq!(setup.bench.get(&format!("{P}/conversations")).await.body, json!([]), "not listed yet");

    let started = line.until("memory_processing_started").await;
    assert_eq!((&started["memory"]["id"], &started["memory"]["status"]), (&json!(id), &json!("processing")));
    assert_eq!(started["memory"]["language"], "multi");
    let poll = setup.bench.get(&format!("/v1/conversations/{id}/finalization")).await.body;
    assert_eq!(poll["status"], "queued", "{poll}");
    let live = "select count(*) from finalization_jobs where origin = 'live' and not force_process \
         and queue = 'finalization'";
    assert_eq!(setup.count(live).await, 1);
    assert_eq!(setup.bench.complete_all(Queue::Finalization).await, 1);
    let created = line.until("memory_created").await;
    assert_eq!((&created["memory"]["id"], &created["messages"]), (&json!(id), &json!([])));
    assert_eq!(setup.texts(&id).await, ["Buy milk and bread tomorrow. Thank you."]);

    line.say(&["Something else."], 200.0).await;
    line.until("segments").await;
    let next = setup.id_in_progress().await;
    assert_ne!(next, id, "the socket goes on with another conversation");
    drop(line);
    let mut again = setup.line("custom_stt=enabled").await;
    assert_eq!(again.until("last_memory").await["memory_id"], id);
}

#[tokio::test]
async fn live_session_names_each_conversation_that_it_fills() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await;
    let named = line.until("conversation_session").await;
    let first = setup.id_in_progress().await;
    let expected =
        json!({ "type": "conversation_session", "conversation_id": first, "status": "in_progress" });
    assert_eq!(named, expected);
    line.say(&["Buy milk."], 0.0).await;
    line.until("segments").await;
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200);
    let named = line.until("conversation_session").await;
    let second = setup.id_in_progress().await;
    assert_ne!(second, first);
    assert_eq!(named["conversation_id"], second.as_str(), "before anything is said in it");
}

#[tokio::test]
async fn live_end_request_processes_everything_sent_before() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 404, "an empty stub is none");
    for number in 0..5 {
        line.say(&[&format!("Word{number}")], f64::from(number)).await;
    }
    line.until("segments").await;
    let meeting = json!({ "calendar_meeting_context": { "title": "Standup" } });
    let ended = setup.bench.post("/v1/conversations", meeting).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    let conversation = &ended.body["conversation"];
    assert_eq!((&conversation["status"], &ended.body["messages"]), (&json!("processing"), &json!([])));
    let text = &conversation["transcript_segments"][0]["text"];
    assert_eq!(text, "Word0 Word1 Word2 Word3 Word4", "what was pending is in it");
    assert!(ended.header("location").ends_with("/finalization"));
    assert_eq!(line.until("memory_processing_started").await["memory"]["id"], conversation["id"]);
    let meeting = "select count(*) from conversations \
         where external_data -> 'calendar_meeting_context' ->> 'title' = 'Standup'";
    assert_eq!(setup.count(meeting).await, 1);
    let none = setup.bench.post("/v1/conversations", json!({})).await;
    assert_eq!(
        (none.status.as_u16(), &none.body["detail"]),
        (404, &json!("Conversation in progress not found"))
    );
    line.say(&["And on."], 300.0).await;
    line.until("segments").await;
    assert_ne!(json!(setup.id_in_progress().await), conversation["id"]);
}

/// The event came after the silence that would have ended the conversation.
#[tokio::test]
async fn live_client_is_told_at_once_of_a_finalize_by_id() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["Only once."], 0.0).await;
    line.until("segments").await;
    let id = setup.id_in_progress().await;
    assert_eq!(setup.bench.post(&format!("/v1/conversations/{id}/finalize"), json!({})).await.status, 200);
    // The silence lasts two minutes.
    let told = timeout(Duration::from_secs(30), line.until("memory_processing_started"));
    assert_eq!(told.await.expect("at once")["memory"]["id"], json!(id));
}

#[tokio::test]
async fn live_concurrent_end_requests_end_one_conversation() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["Only once."], 0.0).await;
    line.until("segments").await;
    let (one, two) = tokio::join!(
        setup.bench.post("/v1/conversations", json!({})),
        setup.bench.post("/v1/conversations", json!({})),
    );
    let ids: Vec<Value> = [one, two]
        .into_iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.body["conversation"]["id"].clone())
        .collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(setup.count("select count(*) from finalization_jobs").await, 1);
}

#[tokio::test]
async fn live_reconnect_resumes_and_closes_the_older_socket() {
    let setup = Setup::new().await;
    let mut old = setup.line("custom_stt=enabled&client_device_id=ios_1").await.ready().await;
    old.say(&["Before the tunnel."], 0.0).await;
    let first = old.until("segments").await;
    let mut young = setup.line("custom_stt=enabled&client_device_id=ios_1").await.ready().await;
    young.say(&["After the tunnel."], 0.0).await;
    let second = young.until("segments").await;
    assert!(second[0]["start"].as_f64() > first[0]["start"].as_f64(), "the clock goes on");
    assert_eq!(old.closed().await, 1001, "at once: its client may be gone without a word");
    let id = setup.id_in_progress().await;
    assert_eq!(setup.texts(&id).await, ["Before the tunnel.", "After the tunnel."]);
    let mut other = setup.line("custom_stt=enabled&client_device_id=ios_2").await.ready().await;
    other.say(&["Another device."], 0.0).await;
    other.until("segments").await;
    assert_ne!(setup.id_in_progress().await, id);
}

/// A user has three places, and a socket whose network is gone keeps its own until it was silent for 90 seconds.
#[tokio::test]
async fn live_client_that_loses_its_network_again_and_again_is_let_in() {
    let setup = Setup::new().await;
    let mut lost = Vec::new();
    for number in 0..5 {
        let let_in = async {
            loop {
                let query = "uid=ann&custom_stt=enabled&client_device_id=ios_1";
                match setup.try_connect(&setup.bench.key, query, &[]).await {
                    Ok(line) => return line,
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let line = timeout(Duration::from_secs(20), let_in).await.expect("the places of the lost are free");
        let mut line = line.ready().await;
        line.say(&[&format!("Word{number}")], 0.0).await;
        line.until("segments").await;
        lost.push(line);
    }
    assert_eq!(setup.count("select count(*) from conversations").await, 1);
}

#[tokio::test]
async fn live_client_conversation_ids_separate_recordings() {
    let setup = Setup::new().await;
    for (number, device) in ["", "&client_device_id=ios_1"].into_iter().enumerate() {
        let [one, two] = [1, 2].map(|which| format!("5a0a7b52-1d1c-4c1e-9d39-1d7a4a4f0{number}0{which}"));
        let query = |id: &str| format!("custom_stt=enabled{device}&client_conversation_id={id}");
        let mut first = setup.line(&query(&one)).await.ready().await;
        first.say(&["The first recording."], 0.0).await;
        first.until("segments").await;
        let mut second = setup.line(&query(&two)).await.ready().await;
        second.say(&["The second recording."], 0.0).await;
        second.until("segments").await;
        first.say(&["It goes on."], 2.0).await;
        first.until("segments").await;
        assert_eq!(setup.texts(&one).await, ["The first recording. It goes on."]);
        assert_eq!(setup.texts(&two).await, ["The second recording."]);
    }
}

#[tokio::test]
async fn live_client_segment_ids_are_stored_once() {
    let setup = Setup::new().await;
    let said = |text: &str| {
        json!({ "type": "suggested_transcript", "stt_provider": "apple", "segments": [
        { "id": "mine-1", "text": text, "start": 0, "end": 1, "speaker": "SPEAKER_01" },
        { "id": "mine-2", "text": "Two.", "start": 1, "end": 2 },
    ] })
    };
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send(said("On")).await;
    line.until("segments").await;
    drop(line);
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send(said("One.")).await;
    let shown = line.until("segments").await;
    assert_eq!((&shown[0]["id"], &shown[0]["stt_provider"]), (&json!("mine-1"), &json!("apple")));
    assert_eq!(setup.texts(&setup.id_in_progress().await).await, ["One.", "Two."]);
}

#[tokio::test]
async fn live_segment_repeated_after_its_conversation_ended_is_only_confirmed() {
    let setup = Setup::new().await;
    let id = "5a0a7b52-1d1c-4c1e-9d39-1d7a4a4f0001";
    let said = json!({ "type": "suggested_transcript", "segments": [
        { "id": id, "text": "Only once.", "start": 0, "end": 1 },
    ] });
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send(said.clone()).await;
    line.until("segments").await;
    drop(line);
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200);
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send(said).await;
    assert_eq!(line.until("segments").await[0]["id"], id, "the client need not repeat it again");
    line.say(&["Something new."], 60.0).await;
    line.until("segments").await;
    assert_eq!(setup.texts(&setup.id_in_progress().await).await, ["Something new."]);
    assert_eq!(setup.count("select count(*) from transcript_segments").await, 2);
}

#[tokio::test]
async fn live_invalid_frames_change_nothing() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    for frame in [
        json!("text"),
        json!({ "type": "from_the_future", "x": 1 }),
        json!({ "no": "type" }),
        json!({ "type": "suggested_transcript" }),
        json!({ "type": "suggested_transcript", "segments": [
            { "text": "  ", "start": 0, "end": 1 },
            { "text": "backwards", "start": 2, "end": 1 },
            { "text": "never", "start": 0, "end": 1e300 },
            { "start": 0, "end": 1 }, 7, null,
        ] }),
        json!({ "type": "speaker_assigned", "speaker_id": "x" }),
        json!({ "type": "image_chunk", "id": "p", "index": 5, "total": 2, "data": "" }),
    ] {
        line.send(frame).await;
    }
    for text in [
        "",
        "not JSON",
        "{",
        "\0",
        "{\"type\": \"suggested_transcript\", ",
        &"[".repeat(60_000),
        "\u{feff}{}",
        "1e999",
    ] {
        line.send_text(text.to_owned()).await;
    }
    line.send_bytes(vec![0, 0]).await;
    line.say(&["Still here."], 0.0).await;
    assert_eq!(line.until("segments").await[0]["text"], "Still here.");
    assert_eq!(setup.texts(&setup.id_in_progress().await).await, ["Still here."]);
}

#[tokio::test]
async fn live_speaker_is_assigned_to_own_people_only() {
    let setup = Setup::new().await;
    let made = setup.bench.post("/v1/users/me/people", json!({ "name": "Maria" })).await;
    let maria = made.body["id"].as_str().unwrap().to_owned();
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.send(json!({ "type": "suggested_transcript", "segments": [
        { "id": "a", "text": "I am Maria.", "start": 0, "end": 1, "speaker": "SPEAKER_01" },
        { "id": "b", "text": "I am not.", "start": 1, "end": 2, "speaker": "SPEAKER_02" },
    ] }))
    .await;
    line.until("segments").await;
    for person in ["unknown", &maria] {
        let assigned = json!({ "type": "speaker_assigned", "speaker_id": 1, "person_id": person,
            "person_name": "Maria", "segment_ids": ["a"] });
        line.send(assigned).await;
    }
    let id = setup.id_in_progress().await;
    let path = format!("{P}/conversations/{id}?include_transcript=true");
    for _ in 0..3_000 {
        let shown = setup.bench.ask(&setup.bench.key, Method::GET, &path, None).await.body;
        let names: Vec<Value> = shown["transcript_segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["speaker_name"].clone())
            .collect();
        if names == ["Maria", "Speaker 2"] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("Maria has no name");
}
