//! Segments sent with a create and segments appended later are stored alike.

use serde_json::{Value, json};

use crate::bench::{Bench, P};

/// Creates a conversation in progress from segments.
async fn open(bench: &Bench, segments: Value) -> String {
    let body = json!({ "transcript_segments": segments, "defer_processing": true });
    let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(made.status, 200, "{made:?}");
    format!("{P}/conversations/{}", made.body["id"].as_str().unwrap())
}

async fn shown(bench: &Bench, conversation: &str, field: &str) -> Vec<Value> {
    let shown = bench.get(&format!("{conversation}?include_transcript=true")).await;
    let segments = shown.body["transcript_segments"].as_array().unwrap();
    segments.iter().map(|segment| segment[field].clone()).collect()
}

#[tokio::test]
async fn sent_speaker_number_is_kept_by_create_and_append() {
    let bench = Bench::new().await;
    let said = json!([
        { "text": "a", "start": 0, "end": 1, "speaker_id": 3 },
        { "text": "b", "start": 1, "end": 2, "speaker": "Ann", "speaker_id": 9 },
        { "text": "c", "start": 2, "end": 3, "speaker": "Zoe", "speaker_id": 4 },
        { "text": "d", "start": 3, "end": 4, "speaker": "SPEAKER_01", "speaker_id": 8 },
        { "text": "e", "start": 4, "end": 5, "speaker": "SPEAKER_05" },
        { "text": "f", "start": 5, "end": 6, "speaker": "Tom" },
    ]);
    let made = open(&bench, said.clone()).await;
    assert_eq!(shown(&bench, &made, "speaker_id").await, [3, 9, 4, 8, 5, 10]);
    let first = json!([{ "text": "x", "start": 0, "end": 1, "speaker_id": 0 }]);
    let appended = open(&bench, first).await;
    let answer = bench.post(&format!("{appended}/segments"), json!({ "transcript_segments": said })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(shown(&bench, &appended, "speaker_id").await, [0, 3, 9, 4, 8, 5, 10]);
}

#[tokio::test]
async fn create_with_duplicate_segment_ids_keeps_the_first() {
    let bench = Bench::new().await;
    let said = |text: &str, id: Value, end: u32| json!({ "text": text, "id": id, "start": 0, "end": end });
    let segments = json!([
        said("first", json!("s1"), 2),
        said("again", json!("s1"), 60),
        said("mine", json!(null), 3),
        said("theirs", json!(null), 4),
    ]);
    for (more, status) in [
        (json!({}), "processing"),
        (json!({ "client_session_id": "talk" }), "processing"),
        (json!({ "client_session_id": "later", "defer_processing": true }), "in_progress"),
    ] {
        let mut body = json!({ "transcript_segments": segments, "started_at": "2026-01-02T10:00:00Z" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
        assert_eq!((made.status.as_u16(), &made.body["status"]), (200, &json!(status)), "{made:?}");
        let conversation = format!("{P}/conversations/{}", made.body["id"].as_str().unwrap());
        assert_eq!(shown(&bench, &conversation, "text").await, ["first", "mine", "theirs"]);
        let stored = bench.get(&conversation).await;
        assert_eq!(stored.body["finished_at"], "2026-01-02T10:00:04Z", "as long as what was kept");
    }
}

#[tokio::test]
async fn append_beyond_the_last_representable_time_is_422() {
    let bench = Bench::new().await;
    let said = |end: u32| json!([{ "text": "x", "start": 0, "end": end }]);
    let body = json!({ "transcript_segments": said(1), "started_at": "9999-12-31T23:00:00Z", "defer_processing": true });
    let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    let conversation = format!("{P}/conversations/{}", made.body["id"].as_str().unwrap());
    let append = async |end| {
        bench.post(&format!("{conversation}/segments"), json!({ "transcript_segments": said(end) })).await
    };
    let late = append(3_600).await;
    assert_eq!((late.status.as_u16(), late.kinds()), (422, vec![("value_error", &json!(["body"]))]));
    assert_eq!(append(3_599).await.body["segment_count"], 2);
    assert_eq!(bench.get(&conversation).await.body["finished_at"], "9999-12-31T23:59:59Z");
}
