//! Deferred creates, appending, finalize and its poll.

use api::Settings;
use axum::{
    body::Body,
    http::{Method, Request},
};
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P, quick};

fn spoken(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({ "text": text, "start": 0, "end": 1, "id": text })).collect()
}

async fn deferred(bench: &Bench) -> String {
    let body = json!({ "transcript_segments": spoken(&["one"]), "defer_processing": true });
    let answer = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(answer.body["status"], "in_progress", "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

async fn finalize(bench: &Bench, id: &str) -> Answer {
    bench.ask(&bench.key, Method::POST, &format!("/v1/conversations/{id}/finalize"), None).await
}

#[tokio::test]
async fn finalize_answers_processing_and_the_poll_url() {
    let bench = Bench::new().await;
    let id = deferred(&bench).await;
    let answer = finalize(&bench, &id).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["conversation"]["status"], "processing");
    assert_eq!(answer.body["messages"], json!([]));
    let place = format!("/v1/conversations/{id}/finalization");
    assert_eq!(answer.header("location"), place);

    let poll = bench.get(&place).await;
    let fields: Vec<&String> = poll.body.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "job_id",
            "status",
            "terminal",
            "retryable",
            "attempt_count",
            "task_retry_count",
            "dispatch_generation",
            "failure_code",
            "outcome",
            "created_at",
            "updated_at",
            "progress",
            "can_finalize_again",
            "cause",
        ]
    );
    assert_eq!((&poll.body["status"], &poll.body["retryable"]), (&json!("queued"), &json!(true)));
    assert_eq!(
        (&poll.body["progress"], &poll.body["can_finalize_again"]),
        (&json!("waiting"), &json!(false))
    );
    assert_eq!(poll.header("retry-after"), "2");
    assert_eq!(poll.header("cache-control"), "private, no-cache");

    let again = finalize(&bench, &id).await;
    assert_eq!(again.status, 200);
    assert_eq!(bench.get(&place).await.body["job_id"], poll.body["job_id"], "a repeat makes no second job");
    assert_eq!(bench.complete_all(Queue::Finalization).await, 1);
    let done = bench.get(&place).await;
    assert_eq!((&done.body["terminal"], &done.body["outcome"]), (&json!(true), &json!("kept")));
    assert_eq!(done.body["progress"], "done");
    assert_eq!(done.header("retry-after"), "");
}

#[tokio::test]
async fn finalization_poll_is_304_when_unchanged() {
    let bench = Bench::new().await;
    let id = deferred(&bench).await;
    finalize(&bench, &id).await;
    let place = format!("/v1/conversations/{id}/finalization");
    let tag = bench.get(&place).await.header("etag").to_owned();
    assert!(tag.starts_with("W/\""));
    let ask = async || {
        let request = Request::builder()
            .uri(&place)
            .header("authorization", format!("Bearer {}", bench.key))
            .header("if-none-match", format!("\"other\", {tag}"));
        bench.send(request.body(Body::empty()).unwrap()).await
    };
    let same = ask().await;
    assert_eq!((same.status.as_u16(), same.header("etag")), (304, tag.as_str()));
    bench.complete_all(Queue::Finalization).await;
    assert_eq!(ask().await.status, 200);
}

#[tokio::test]
async fn append_is_idempotent_and_only_while_in_progress() {
    let bench = Bench::new().await;
    let id = deferred(&bench).await;
    let path = format!("{P}/conversations/{id}/segments");
    let body = json!({ "transcript_segments": spoken(&["one", "two"]) });
    for _ in 0..2 {
        let answer = bench.post(&path, body.clone()).await;
        assert_eq!(answer.body["segment_count"], 2, "{answer:?}");
    }
    finalize(&bench, &id).await;
    assert_eq!(bench.post(&path, body).await.status, 409);
}

#[tokio::test]
async fn finalize_and_defer_without_durable_dispatch_are_503() {
    let bench = Bench::with(Settings { finalize_enabled: false, ..quick() }).await;
    let made = bench.post(&format!("{P}/conversations"), json!({ "text": "Buy milk." })).await;
    let path = format!("{P}/conversations/{}", made.body["id"].as_str().unwrap());
    let before = bench.get(&path).await.body;
    let deferred = json!({
        "transcript_segments": spoken(&["one"]), "defer_processing": true, "client_session_id": "s",
    });
    for (path, body) in [
        (format!("/v1/conversations/{}/finalize", made.body["id"].as_str().unwrap()), None),
        ("/v1/conversations/unknown/finalize".to_owned(), None),
        (format!("{P}/conversations/from-segments"), Some(deferred.clone())),
    ] {
        let answer = bench.ask(&bench.key, Method::POST, &path, body).await;
        assert_eq!(answer.status, 503, "{path}");
        let words = "Durable dispatch is not configured: set LISTEN_FINALIZATION_DISPATCH_MODE to postgres";
        assert_eq!(answer.body, json!({ "detail": words }));
        assert_eq!(answer.header("retry-after"), "", "repeating does not help");
    }
    assert_eq!(bench.get(&path).await.body, before);
    assert_eq!(bench.complete_all(Queue::Finalization).await, 0);
    let mut prompt = deferred;
    prompt["defer_processing"] = json!(false);
    let created = bench.post(&format!("{P}/conversations/from-segments"), prompt).await;
    assert_eq!(created.body["status"], "processing", "the refused create has left nothing behind");
}

#[tokio::test]
async fn finalize_body_is_optional_and_validated() {
    let bench = Bench::new().await;
    let id = deferred(&bench).await;
    let path = format!("/v1/conversations/{id}/finalize");
    let body = json!({ "calendar_meeting_context": { "start_time": "soon", "participants": [1] } });
    let answer = bench.post(&path, body).await;
    assert_eq!(
        answer.kinds(),
        [
            ("datetime_from_date_parsing", &json!(["body", "calendar_meeting_context", "start_time"])),
            ("model_attributes_type", &json!(["body", "calendar_meeting_context", "participants", 0])),
        ]
    );
    let body =
        json!({ "calendar_meeting_context": { "title": "Review", "participants": [{ "name": "Tom" }] } });
    assert_eq!(bench.post(&path, body).await.status, 200);
}
