//! `Idempotency-Key` when the first answer was lost: the process died between the commit and the answer, the client hung up,
//! the key expired, or many requests came at once.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::bench::{Answer, Bench, P};
use crate::idempotency::{creates, with_key_again};

async fn with_key(bench: &Bench, key: &str, path: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("idempotency-key", "the-name");
    bench.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Makes all keys look as if the process had died after its commits and before its answers.
async fn lose_the_answers(bench: &Bench, ago: &str) {
    let lost = format!(
        "update request_keys set status = null, answer = null, running_until = now() - interval '{ago}'"
    );
    bench.run(&lost).await;
}

async fn many(bench: &Bench, list: &str) -> usize {
    bench.get(list).await.body.as_array().unwrap().len()
}

/// Without the fields that are shown only once.
fn shown_again(first: &Answer) -> Value {
    let mut body = first.body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("key");
        fields.remove("secret");
    }
    body
}

#[tokio::test]
async fn idempotent_repeat_after_a_crash_returns_the_first_result_on_every_route() {
    let bench = Bench::new().await;
    for (path, body, list) in creates() {
        let first = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let there = many(&bench, &list).await;
        lose_the_answers(&bench, "1 second").await;
        let again = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"), "{path}");
        assert_eq!(again.body, shown_again(&first), "{path}");
        assert_eq!(many(&bench, &list).await, there, "{path}");
    }
}

#[tokio::test]
async fn idempotent_repeat_after_a_crash_shows_the_current_conversation() {
    let bench = Bench::new().await;
    let segments = json!({ "transcript_segments": [{ "text": "Buy milk.", "start": 0, "end": 1 }] });
    for (path, body) in [
        (format!("{P}/conversations"), json!({ "text": "Call the dentist." })),
        (format!("{P}/conversations/from-segments"), segments),
    ] {
        let first = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!(first.body["status"], "processing");
        bench.complete_all(job::Queue::Creation).await;
        lose_the_answers(&bench, "1 second").await;
        let again = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!(
            again.body,
            json!({ "id": first.body["id"], "status": "completed", "discarded": false }),
            "{path}"
        );
        let place = format!("{P}/conversations/{}", first.body["id"].as_str().unwrap());
        bench.ask(&bench.key, Method::DELETE, &place, None).await;
        lose_the_answers(&bench, "1 second").await;
        let gone = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!(
            gone.body,
            json!({ "id": first.body["id"], "status": "deleted", "discarded": true }),
            "{path}"
        );
    }
    assert_eq!(bench.complete_all(job::Queue::Creation).await, 0, "nothing was made again");
}

#[tokio::test]
async fn idempotent_repeat_does_not_recreate_a_deleted_record() {
    let bench = Bench::new().await;
    let path = format!("{P}/memories");
    let body = json!({ "content": "one" });
    let first = with_key(&bench, &bench.key, &path, &body).await;
    let place = format!("{path}/{}", first.body["id"].as_str().unwrap());
    bench.ask(&bench.key, Method::DELETE, &place, None).await;
    lose_the_answers(&bench, "1 second").await;
    let again = with_key(&bench, &bench.key, &path, &body).await;
    assert_eq!((again.status.as_u16(), &again.body["detail"]), (404, &json!("Memory not found")));
    assert_eq!(many(&bench, &path).await, 0);
}

#[tokio::test]
async fn deleted_records_are_erased_from_stored_idempotent_answers() {
    let bench = Bench::new().await;
    let conversation = json!({ "text": "words of mine", "defer_processing": true });
    for (path, body) in [
        (format!("{P}/memories"), json!({ "content": "words of mine" })),
        (format!("{P}/action-items"), json!({ "description": "words of mine" })),
        (format!("{P}/goals"), json!({ "title": "words of mine", "target_value": 1 })),
        (format!("{P}/conversations"), conversation),
        ("/v1/users/me/people".to_owned(), json!({ "name": "words of mine" })),
        (format!("{P}/webhooks"), json!({ "url": "https://hooks.example/words of mine" })),
        (
            "/v1/users/me/push-subscriptions".to_owned(),
            json!({ "kind": "webhook", "url": "https://hooks.example/words of mine" }),
        ),
    ] {
        let first = with_key(&bench, &bench.key, &path, &body).await;
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let place = format!("{path}/{}", first.body["id"].as_str().unwrap());
        let deleted = bench.ask(&bench.key, Method::DELETE, &place, None).await;
        assert!(deleted.status.is_success(), "{path}: {deleted:?}");
        let again = with_key(&bench, &bench.key, &path, &body).await;
        assert!(!again.body.to_string().contains("words of mine"), "{path}: {again:?}");
        bench
            .run("do $$ begin assert not exists (select from request_keys where answer is not null); end $$")
            .await;
    }
}

#[tokio::test]
async fn idempotent_repeat_shows_that_the_key_was_revoked() {
    let bench = Bench::new().await;
    let (path, body) = ("/v1/dev/keys", json!({ "name": "laptop" }));
    let first = with_key(&bench, &bench.key, path, &body).await;
    assert_eq!((first.status.as_u16(), &first.body["revoked_at"]), (200, &Value::Null));
    let place = format!("{path}/{}", first.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &place, None).await.status, 204);
    let again = with_key(&bench, &bench.key, path, &body).await;
    assert_eq!((again.status.as_u16(), &again.body["id"]), (200, &first.body["id"]));
    assert!(again.body["revoked_at"].is_string(), "{again:?}");
}

#[tokio::test]
async fn idempotent_repeat_during_the_first_is_409_and_another_body_422() {
    let bench = Bench::new().await;
    let path = format!("{P}/goals");
    let body = json!({ "title": "Read", "target_value": 3 });
    with_key(&bench, &bench.key, &path, &body).await;
    lose_the_answers(&bench, "-30 seconds").await;
    let running = with_key(&bench, &bench.key, &path, &body).await;
    assert_eq!((running.status.as_u16(), running.header("retry-after")), (409, "2"));
    let other = with_key(&bench, &bench.key, &path, &json!({ "title": "Run", "target_value": 3 })).await;
    assert_eq!(other.kinds(), [("value_error", &json!(["header", "idempotency-key"]))]);
    assert_eq!(many(&bench, &path).await, 1);
}

#[tokio::test]
async fn idempotency_key_is_per_user_and_expires_after_a_day() {
    let bench = Bench::new().await;
    let path = format!("{P}/memories");
    let first = with_key(&bench, &bench.key, &path, &json!({ "content": "Ann's" })).await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let bobs = with_key(&bench, &bob, &path, &json!({ "content": "Bob's" })).await;
    assert_eq!((bobs.status.as_u16(), bobs.header("idempotency-replayed")), (200, ""));
    // The same body under the same key does not get Ann's answer either.
    let same = with_key(&bench, &bob, &path, &json!({ "content": "Ann's" })).await;
    assert_eq!(same.status, 422);
    assert_eq!(with_key(&bench, &bench.key, &path, &json!({ "content": "Ann's" })).await.body, first.body);

    bench.run("update request_keys set created_at = created_at - interval '24 hours'").await;
    let next_day = with_key(&bench, &bench.key, &path, &json!({ "content": "new" })).await;
    assert_eq!((next_day.status.as_u16(), next_day.header("idempotency-replayed")), (200, ""));
    assert_ne!(next_day.body["id"], first.body["id"]);
    assert_eq!(with_key(&bench, &bench.key, &path, &json!({ "content": "Ann's" })).await.status, 422);
}

/// Sends all at the same moment, from as many threads as there are.
async fn at_once(bench: &Arc<Bench>, path: &str, bodies: Vec<Value>) -> Vec<Answer> {
    let barrier = Arc::new(Barrier::new(bodies.len()));
    let send = |body: Value| {
        let (bench, barrier, path) = (Arc::clone(bench), Arc::clone(&barrier), path.to_owned());
        tokio::spawn(async move {
            barrier.wait().await;
            with_key_again(&bench, &path, "the-name", &body).await
        })
    };
    let sent: Vec<_> = bodies.into_iter().map(send).collect();
    let mut answers = Vec::new();
    for answer in sent {
        answers.push(answer.await.unwrap());
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_bodies_under_one_idempotency_key_accept_one() {
    let bench = Arc::new(Bench::new().await);
    let path = format!("{P}/memories");
    let bodies: Vec<Value> = (0..8).map(|number| json!({ "content": format!("body {number}") })).collect();
    let answers = at_once(&bench, &path, bodies.clone()).await;
    let taken: Vec<usize> = (0..8).filter(|place| answers[*place].status == 200).collect();
    let [winner] = taken[..] else { panic!("{answers:?}") };
    assert_eq!(answers[winner].body["content"], bodies[winner]["content"]);
    for (body, answer) in bodies.iter().zip(&answers) {
        assert!([200, 409, 422].contains(&answer.status.as_u16()), "{answer:?}");
        let again = with_key(&bench, &bench.key, &path, body).await;
        assert_eq!(again.status.as_u16(), if *body == bodies[winner] { 200 } else { 422 });
    }
    assert_eq!(many(&bench, &path).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_idempotent_repeats_after_a_crash_return_the_first_result() {
    let bench = Arc::new(Bench::new().await);
    let path = format!("{P}/action-items/batch");
    let body = json!({ "action_items": [{ "description": "one" }, { "description": "two" }] });
    let first = with_key(&bench, &bench.key, &path, &body).await;
    lose_the_answers(&bench, "1 second").await;
    for answer in at_once(&bench, &path, vec![body; 8]).await {
        assert_eq!((answer.status.as_u16(), &answer.body), (200, &first.body));
    }
    assert_eq!(many(&bench, &format!("{P}/action-items")).await, 2);
}
