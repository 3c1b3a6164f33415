//! `POST /v1/conversations` (process what is in progress) and reprocess.

use api::{Scope, Settings};
use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P, quick};

async fn created(bench: &Bench) -> String {
    let made = bench.post(&format!("{P}/conversations"), json!({ "text": "Buy milk." })).await;
    made.body["id"].as_str().unwrap().to_owned()
}

async fn again(bench: &Bench, id: &str) -> Answer {
    bench.ask(&bench.key, Method::POST, &format!("/v1/conversations/{id}/reprocess"), None).await
}

async fn shown(bench: &Bench, id: &str) -> Value {
    bench.get(&format!("{P}/conversations/{id}?include_transcript=true")).await.body
}

#[tokio::test]
async fn reprocess_admits_a_completed_conversation_that_stays_readable() {
    let bench = Bench::new().await;
    let id = created(&bench).await;
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    let before = shown(&bench, &id).await;
    let answer = again(&bench, &id).await;
    assert_eq!((answer.status.as_u16(), &answer.body), (200, &before), "{answer:?}");
    let place = format!("/v1/conversations/{id}/finalization");
    assert_eq!(answer.header("location"), place);
    assert_eq!(bench.get(&format!("{P}/conversations")).await.body[0]["id"], id.as_str(), "still listed");
    let job = bench.get(&place).await.body;
    assert_eq!(job["status"], "queued");
    again(&bench, &id).await;
    assert_eq!(bench.get(&place).await.body["job_id"], job["job_id"], "a repeat makes no second job");
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    assert_eq!(bench.get(&place).await.body["outcome"], "kept");
}

#[tokio::test]
async fn reprocess_refusals_name_their_reason() {
    let bench = Bench::new().await;
    let unknown = again(&bench, "unknown").await;
    assert_eq!((unknown.status.as_u16(), &unknown.body["detail"]), (404, &json!("Conversation not found")));
    let segments = json!([{ "text": "Hello.", "start": 0, "end": 1 }]);
    let body = json!({ "transcript_segments": segments, "defer_processing": true });
    let open = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(again(&bench, open.body["id"].as_str().unwrap()).await.status, 409);

    let id = created(&bench).await;
    bench.complete_all(Queue::Creation).await;
    let bob = bench.person("bob", Scope::ALL).await;
    let path = format!("/v1/conversations/{id}/reprocess");
    assert_eq!(bench.ask(&bob, Method::POST, &path, None).await.status, 404);
    let reader = bench.person("ann", &[Scope::ConversationsRead]).await;
    assert_eq!(bench.ask(&reader, Method::POST, &path, None).await.status, 403);
    bench.ask(&bench.key, Method::PATCH, "/v1/users/me", Some(json!({ "requires_byok": true }))).await;
    let before = shown(&bench, &id).await;
    assert_eq!(again(&bench, &id).await.status, 409, "keys are required and none came");
    assert_eq!(shown(&bench, &id).await, before);
}

#[tokio::test]
async fn process_in_progress_finalizes_the_newest_conversation() {
    let bench = Bench::new().await;
    let path = "/v1/conversations";
    let none = bench.post(path, json!({})).await;
    assert_eq!(
        (none.status.as_u16(), &none.body),
        (404, &json!({ "detail": "Conversation in progress not found" }))
    );
    let mut open = Vec::new();
    for text in ["First.", "Second."] {
        let segments = json!([{ "text": text, "start": 0, "end": 1 }]);
        let body = json!({ "transcript_segments": segments, "defer_processing": true });
        let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
        open.push(made.body["id"].clone());
    }
    for id in open.iter().rev() {
        let answer = bench.post(path, json!({})).await;
        assert_eq!(
            (&answer.body["conversation"]["id"], &answer.body["messages"]),
            (id, &json!([])),
            "{answer:?}"
        );
        assert_eq!(answer.body["conversation"]["status"], "processing");
        assert!(answer.header("location").ends_with("/finalization"));
    }
    assert_eq!(bench.post(path, json!({})).await.status, 404);
    assert_eq!(bench.complete_all(Queue::Finalization).await, 2);
    let reader = bench.person("ann", &[Scope::ConversationsRead]).await;
    assert_eq!(bench.ask(&reader, Method::POST, path, None).await.status, 403);
}

#[tokio::test]
async fn reprocess_works_without_durable_dispatch() {
    let bench = Bench::with(Settings { finalize_enabled: false, ..quick() }).await;
    let id = created(&bench).await;
    bench.complete_all(Queue::Creation).await;
    assert_eq!(again(&bench, &id).await.status, 200);
    assert_eq!(bench.post("/v1/conversations", json!({})).await.status, 404);
}
