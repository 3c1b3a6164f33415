//! `Idempotency-Key` on the routes that process a conversation: finalize, process what is in progress, reprocess.

use std::time::{Duration, Instant};

use axum::{
    body::Body,
    http::{Method, Request},
};
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn with_key(bench: &Bench, path: &str, key: &str, body: Option<Value>) -> Answer {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {}", bench.key))
        .header("idempotency-key", key);
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    bench.send(request.body(Body::from(body)).unwrap()).await
}

async fn deferred(bench: &Bench, text: &str) -> String {
    let body = json!({
        "transcript_segments": [{ "text": text, "start": 0, "end": 1 }], "defer_processing": true,
    });
    let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    made.body["id"].as_str().unwrap().to_owned()
}

async fn completed(bench: &Bench) -> String {
    let made = bench.post(&format!("{P}/conversations"), json!({ "text": "Buy milk." })).await;
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    made.body["id"].as_str().unwrap().to_owned()
}

async fn job(bench: &Bench, id: &str) -> Value {
    bench.get(&format!("/v1/conversations/{id}/finalization")).await.body["job_id"].clone()
}

#[tokio::test]
async fn idempotent_finalize_admits_once_and_shows_the_current_conversation() {
    let bench = Bench::new().await;
    let id = deferred(&bench, "Buy milk.").await;
    let path = format!("/v1/conversations/{id}/finalize");
    let first = with_key(&bench, &path, "k", None).await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (200, ""), "{first:?}");
    let again = with_key(&bench, &path, "\"k\"", None).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"), "{again:?}");
    assert_eq!((&again.body, again.header("location")), (&first.body, first.header("location")));
    assert_eq!(bench.complete_all(Queue::Finalization).await, 1);
    let later = with_key(&bench, &path, "k", None).await;
    assert_eq!(later.body["conversation"]["status"], "completed");
    // The transcript is not stored a second time.
    bench
        .run("do $$ begin assert not exists (select from request_keys where answer is not null); end $$")
        .await;
    let other = with_key(&bench, &path, "k", Some(json!({}))).await;
    assert_eq!(other.kinds(), [("value_error", &json!(["header", "idempotency-key"]))]);
    bench.ask(&bench.key, Method::DELETE, &format!("{P}/conversations/{id}"), None).await;
    let gone = with_key(&bench, &path, "k", None).await;
    assert_eq!((gone.status.as_u16(), &gone.body["detail"]), (404, &json!("Conversation not found")));
}

#[tokio::test]
async fn idempotent_process_in_progress_does_not_end_the_next_conversation() {
    let bench = Bench::new().await;
    let older = deferred(&bench, "One.").await;
    let newer = deferred(&bench, "Two.").await;
    let first = with_key(&bench, "/v1/conversations", "k", Some(json!({}))).await;
    assert_eq!(first.body["conversation"]["id"], newer.as_str(), "{first:?}");
    for lost in ["select", "update request_keys set running_until = now()"] {
        bench.run(lost).await;
        let again = with_key(&bench, "/v1/conversations", "k", Some(json!({}))).await;
        assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
        assert_eq!(again.body["conversation"]["id"], newer.as_str());
    }
    let left = bench.get(&format!("{P}/conversations/{older}")).await;
    assert_eq!(left.body["status"], "in_progress");
    let next = with_key(&bench, "/v1/conversations", "l", Some(json!({}))).await;
    assert_eq!(next.body["conversation"]["id"], older.as_str());
}

#[tokio::test]
async fn idempotent_reprocess_makes_one_revision_also_after_completion() {
    let bench = Bench::new().await;
    let id = completed(&bench).await;
    let path = format!("/v1/conversations/{id}/reprocess");
    let first = with_key(&bench, &path, "k", None).await;
    assert_eq!(first.status, 200, "{first:?}");
    let made = job(&bench, &id).await;
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    let again = with_key(&bench, &path, "k", None).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
    assert_eq!((&again.body["id"], again.header("location")), (&first.body["id"], first.header("location")));
    assert_eq!(job(&bench, &id).await, made);
    assert_eq!(bench.complete_all(Queue::Creation).await, 0);
    assert_eq!(with_key(&bench, &path, "l", None).await.status, 200);
    assert_ne!(job(&bench, &id).await, made, "another key is another request");
}

#[tokio::test]
async fn refused_finalize_releases_its_idempotency_key() {
    let bench = Bench::new().await;
    let open = deferred(&bench, "One.").await;
    let reprocess = format!("/v1/conversations/{open}/reprocess");
    assert_eq!(with_key(&bench, &reprocess, "k", None).await.status, 409);
    let unknown = with_key(&bench, "/v1/conversations/unknown/finalize", "k", None).await;
    assert_eq!((unknown.status.as_u16(), &unknown.body["detail"]), (404, &json!("Conversation not found")));
    let path = format!("/v1/conversations/{open}/finalize");
    let first = with_key(&bench, &path, "k", None).await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (200, ""), "{first:?}");
    bench.complete_all(Queue::Finalization).await;
    assert_eq!(with_key(&bench, "/v1/conversations", "k", None).await.status, 404);
    assert_eq!(with_key(&bench, &reprocess, "k", None).await.status, 200);
    bench.run("do $$ begin assert (select count(*) from request_keys) = 2; end $$").await;
}

#[tokio::test]
async fn concurrent_finalizes_under_one_idempotency_key_admit_one() {
    let bench = Bench::new().await;
    let id = deferred(&bench, "One.").await;
    let path = format!("/v1/conversations/{id}/finalize");
    // On a machine that is busy the first holds the conversation for longer than a lock is waited for: the others come again.
    let ask = async || {
        loop {
            let asked = Instant::now();
            let answer = with_key(&bench, &path, "k", None).await;
            if answer.status != 503 || asked.elapsed() < Duration::from_secs(2) {
                break answer;
            }
        }
    };
    let answers = futures::future::join_all((0..8).map(|_| ask())).await;
    for answer in &answers {
        assert!([200, 409].contains(&answer.status.as_u16()), "{answer:?}");
    }
    assert_eq!(bench.complete_all(Queue::Finalization).await, 1);
    assert_eq!(with_key(&bench, &path, "k", None).await.status, 200);
}
