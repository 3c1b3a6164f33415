//! Creating conversations.

use std::{sync::Arc, time::Duration};

use api::Settings;
use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::bench::{Bench, P, quick};

fn segments() -> Value {
    json!([
        { "text": "Hello Tom.", "start": 0, "end": 2.5, "speaker": "SPEAKER_01" },
        { "text": "Call me on Friday.", "start": 2.5, "end": "4", "is_user": true },
        { "text": "Sure.", "start": 4, "end": 5, "speaker": "Tom" },
    ])
}

#[tokio::test]
async fn create_over_its_wait_answers_processing_and_the_job_continues() {
    let bench = Bench::new().await;
    let answer = bench.post(&format!("{P}/conversations"), json!({ "text": " Buy milk. " })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["status"], "processing");
    assert_eq!(answer.body["discarded"], false);
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    let id = answer.body["id"].as_str().unwrap();
    let shown = bench.get(&format!("{P}/conversations/{id}?include_transcript=true")).await;
    assert_eq!(shown.body["status"], "completed");
    assert_eq!(shown.body["source"], "external_integration");
    assert_eq!(shown.body["transcript_segments"], json!([]), "the text is not kept as segments");
}

#[tokio::test]
async fn create_with_unrepresentable_times_is_422() {
    let bench = Bench::new().await;
    let text = |times: Value| {
        ("conversations", json!({ "text": "x", "started_at": times[0], "finished_at": times[1] }))
    };
    let spoken = |started: &str| {
        let segment = json!({ "text": "x", "start": 0, "end": 7_200 });
        ("conversations/from-segments", json!({ "transcript_segments": [segment], "started_at": started }))
    };
    for ((path, body), place) in [
        (text(json!(["9999-12-31T23:59:59Z", null])), json!(["body"])),
        (text(json!([null, "0001-01-01T00:00:00Z"])), json!(["body"])),
        (spoken("9999-12-31T23:00:00Z"), json!(["body"])),
        (text(json!(["9999-12-31T23:59:59-02:00", null])), json!(["body", "started_at"])),
        (text(json!(["0001-01-01T00:00:00+14:00", null])), json!(["body", "started_at"])),
    ] {
        let answer = bench.post(&format!("{P}/{path}"), body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.kinds(), [("value_error", &place)], "{body}");
    }
    let (path, body) = spoken("9999-12-31T21:00:00Z");
    let made = bench.post(&format!("{P}/{path}"), body).await;
    let shown = bench.get(&format!("{P}/conversations/{}", made.body["id"].as_str().unwrap())).await;
    assert_eq!(shown.body["finished_at"], "9999-12-31T23:00:00Z");
}

#[tokio::test]
async fn create_answers_completed_when_its_job_ends() {
    let bench = Bench::with(Settings { create_wait: Duration::from_secs(20), ..quick() }).await;
    let path = format!("{P}/conversations");
    let create = bench.post(&path, json!({ "text": "Buy milk." }));
    let work = async {
        while bench.complete_all(Queue::Creation).await == 0 {
            tokio::task::yield_now().await
        }
    };
    let (answer, ()) = tokio::join!(create, work);
    assert_eq!(answer.body["status"], "completed");
}

#[tokio::test]
async fn create_keeps_segments_with_their_speakers() {
    let bench = Bench::new().await;
    let body = json!({ "transcript_segments": segments(), "started_at": "2026-01-02T10:00:00Z" });
    let answer = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = answer.body["id"].as_str().unwrap();
    let shown = bench.get(&format!("{P}/conversations/{id}?include_transcript=1")).await;
    let names: Vec<&Value> = shown.body["transcript_segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| &segment["speaker_name"])
        .collect();
    assert_eq!(names, ["Speaker 1", "User", "Speaker 2"]);
    assert_eq!(shown.body["source"], "phone");
    assert_eq!(shown.body["finished_at"], "2026-01-02T10:00:05Z");
}

#[tokio::test]
async fn concurrent_creates_with_one_client_session_id_make_one_conversation() {
    let bench = Arc::new(Bench::new().await);
    let barrier = Arc::new(Barrier::new(2));
    let twins = [(); 2].map(|()| {
        let (bench, barrier) = (Arc::clone(&bench), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            let body = json!({ "transcript_segments": segments(), "client_session_id": "s-1" });
            bench.post(&format!("{P}/conversations/from-segments"), body).await
        })
    });
    let mut ids = Vec::new();
    for twin in twins {
        let answer = twin.await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        ids.push(answer.body["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    let body = json!({ "transcript_segments": segments(), "client_session_id": "s-1" });
    let again = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(again.body, json!({ "id": ids[0], "status": "completed", "discarded": false }));
    assert_eq!(bench.complete_all(Queue::Creation).await, 0, "a repeat processes nothing twice");
}

#[tokio::test]
async fn repeated_create_after_a_delete_restores_nothing() {
    let bench = Bench::new().await;
    let path = format!("{P}/conversations/from-segments");
    let body = json!({ "transcript_segments": segments(), "client_session_id": "s-1" });
    let first = bench.post(&path, body.clone()).await;
    let one = format!("{P}/conversations/{}", first.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &one, None).await.body, json!({ "success": true }));
    let again = bench.post(&path, body).await;
    assert_eq!(again.body, json!({ "id": first.body["id"], "status": "deleted", "discarded": true }));
    assert_eq!(bench.get(&one).await.status, 404);
}

#[tokio::test]
async fn create_from_text_names_every_error() {
    let bench = Bench::new().await;
    let body = json!({ "text": "  ", "text_source": "fax", "started_at": "soon", "geolocation": { "latitude": 91 } });
    let answer = bench.post(&format!("{P}/conversations"), body).await;
    assert_eq!(answer.status, 422);
    assert_eq!(
        answer.kinds(),
        [
            ("value_error", &json!(["body", "text"])),
            ("enum", &json!(["body", "text_source"])),
            ("datetime_from_date_parsing", &json!(["body", "started_at"])),
            ("less_than_equal", &json!(["body", "geolocation", "latitude"])),
            ("missing", &json!(["body", "geolocation", "longitude"])),
        ]
    );
}

#[tokio::test]
async fn create_enforces_limits_and_time_order() {
    let bench = Bench::new().await;
    let path = format!("{P}/conversations/from-segments");
    let refused = [
        (json!({}), "missing", json!(["body", "transcript_segments"])),
        (json!({ "transcript_segments": [] }), "too_short", json!(["body", "transcript_segments"])),
        (
            json!({ "transcript_segments": vec![json!({ "text": "a", "start": 0, "end": 1 }); 501] }),
            "too_long",
            json!(["body", "transcript_segments"]),
        ),
        (
            json!({ "transcript_segments": [{ "text": "a", "start": 2, "end": 1 }] }),
            "value_error",
            json!(["body", "transcript_segments", 0]),
        ),
        (
            json!({ "transcript_segments": [{ "text": "a", "start": -1, "end": 1 }] }),
            "greater_than_equal",
            json!(["body", "transcript_segments", 0, "start"]),
        ),
        (
            json!({ "transcript_segments": segments(), "client_session_id": "x".repeat(201) }),
            "string_too_long",
            json!(["body", "client_session_id"]),
        ),
        (
            json!({ "transcript_segments": segments(), "source": "toaster" }),
            "enum",
            json!(["body", "source"]),
        ),
        (
            json!({
                "transcript_segments": segments(),
                "started_at": "2026-01-02T10:00:00Z", "finished_at": "2026-01-02T09:00:00Z",
            }),
            "value_error",
            json!(["body"]),
        ),
    ];
    for (body, kind, loc) in refused {
        let answer = bench.post(&path, body).await;
        assert_eq!(answer.status, 422);
        assert_eq!(answer.kinds(), [(kind, &loc)]);
    }
}
