//! `Idempotency-Key`: a create is executed once per key.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use api::Settings;
use axum::{
    body::Body,
    http::{Method, Request},
};
use futures::future::join_all;
use job::Queue;
use operations::Operations;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn with_key(bench: &Bench, path: &str, name: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json")
        .header("idempotency-key", name);
    bench.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// For one of several at once: on a machine that is busy the first holds the name for longer than the two seconds for which a lock is
/// waited for, and the others come again.
pub(crate) async fn with_key_again(bench: &Bench, path: &str, name: &str, body: &Value) -> Answer {
    loop {
        let asked = Instant::now();
        let answer = with_key(bench, path, name, body).await;
        if answer.status != 503 || asked.elapsed() < Duration::from_secs(2) {
            return answer;
        }
    }
}

/// Every route that creates, with a body, and where what it made is listed.
pub(crate) fn creates() -> Vec<(String, Value, String)> {
    let of = |path: &str, body: Value| (format!("{P}/{path}"), body, format!("{P}/{path}"));
    vec![
        of("action-items", json!({ "description": "one" })),
        of("memories", json!({ "content": "one" })),
        of("goals", json!({ "title": "one", "target_value": 1 })),
        of("webhooks", json!({ "url": "https://example.com" })),
        (
            format!("{P}/action-items/batch"),
            json!({ "action_items": [{ "description": "two" }] }),
            format!("{P}/action-items"),
        ),
        (
            format!("{P}/memories/batch"),
            json!({ "memories": [{ "content": "two" }] }),
            format!("{P}/memories"),
        ),
        ("/v1/users/me/people".into(), json!({ "name": "Tom" }), "/v1/users/me/people".into()),
        ("/v1/dev/keys".into(), json!({ "name": "k" }), "/v1/dev/keys".into()),
        (
            "/v1/users/me/push-subscriptions".into(),
            json!({ "kind": "webhook", "url": "https://example.com" }),
            "/v1/users/me/push-subscriptions".into(),
        ),
    ]
}

#[tokio::test]
async fn idempotent_repeat_creates_nothing_and_returns_the_first_answer() {
    let bench = Bench::new().await;
    for (path, body, list) in creates() {
        let first = with_key(&bench, &path, "\"a name\"".replace(' ', "-").as_str(), &body).await;
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let many = bench.get(&list).await.body.as_array().unwrap().len();
        // Quoted or bare, it is the same key.
        let again = with_key(&bench, &path, "a-name", &body).await;
        assert_eq!(again.status, 200, "{path}");
        assert_eq!(again.header("idempotency-replayed"), "true", "{path}");
        let mut shown_once = first.body.clone();
        if let Some(fields) = shown_once.as_object_mut() {
            fields.remove("key");
            fields.remove("secret");
        }
        assert_eq!(again.body, shown_once, "{path}");
        assert_eq!(bench.get(&list).await.body.as_array().unwrap().len(), many, "{path}");
    }
}

#[tokio::test]
async fn idempotent_conversation_create_replays_its_answer() {
    let bench = Bench::new().await;
    let body = json!({ "text": "I will call the dentist." });
    let first = with_key(&bench, &format!("{P}/conversations"), "n1", &body).await;
    let again = with_key(&bench, &format!("{P}/conversations"), "n1", &body).await;
    assert_eq!(first.body, again.body);
    // A key counts for one route, and for one user.
    let segments = json!({ "transcript_segments": [{ "text": "x", "start": 0, "end": 1 }] });
    let other = with_key(&bench, &format!("{P}/conversations/from-segments"), "n1", &segments).await;
    assert_ne!(other.body["id"], first.body["id"]);
}

#[tokio::test]
async fn idempotency_key_with_another_body_or_invalid_is_422() {
    let bench = Bench::new().await;
    let path = format!("{P}/memories");
    assert_eq!(with_key(&bench, &path, "n", &json!({ "content": "one" })).await.status, 200);
    let other = with_key(&bench, &path, "n", &json!({ "content": "two" })).await;
    assert_eq!(other.status, 422);
    assert_eq!(other.kinds(), [("value_error", &json!(["header", "idempotency-key"]))]);
    for wrong in ["", "\"\"", "two words", &"x".repeat(256)] {
        let answer = with_key(&bench, &path, wrong, &json!({ "content": "three" })).await;
        assert_eq!(answer.status, 422, "{wrong}");
    }
    assert_eq!(bench.get(&path).await.body.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn two_idempotency_keys_are_422_and_neither_is_taken() {
    let bench = Bench::new().await;
    let path = format!("{P}/memories");
    let body = json!({ "content": "one" });
    for (first, second) in [("a", "b"), ("b", "a"), ("a", "a")] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(&path)
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json")
            .header("idempotency-key", first)
            .header("idempotency-key", second);
        let answer = bench.send(request.body(Body::from(body.to_string())).unwrap()).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert_eq!(answer.kinds(), [("value_error", &json!(["header", "idempotency-key"]))]);
    }
    assert_eq!(bench.get(&path).await.body, json!([]));
    let alone = with_key(&bench, &path, "b", &body).await;
    assert_eq!((alone.status.as_u16(), alone.header("idempotency-replayed")), (200, ""));
}

#[tokio::test]
async fn refused_request_releases_its_idempotency_key() {
    let bench = Bench::new().await;
    let path = format!("{P}/memories");
    assert_eq!(with_key(&bench, &path, "n", &json!({ "content": "" })).await.status, 422);
    assert_eq!(with_key(&bench, &path, "n", &json!({ "content": "right" })).await.status, 200);
}

#[tokio::test]
async fn concurrent_idempotent_creates_make_one_and_others_are_409_or_replayed() {
    let bench = Bench::new().await;
    let path = format!("{P}/action-items");
    let body = json!({ "description": "once" });
    let answers = join_all((0..8).map(|_| with_key_again(&bench, &path, "n", &body))).await;
    for answer in &answers {
        match answer.status.as_u16() {
            200 => {}
            409 => assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1),
            other => panic!("{other}: {answer:?}"),
        }
    }
    let ids: Vec<&Value> =
        answers.iter().filter(|answer| answer.status == 200).map(|answer| &answer.body["id"]).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(bench.get(&path).await.body.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn idempotent_replay_checks_authentication_first() {
    let mut bench = Bench::new().await;
    let path = format!("{P}/memories");
    let body = json!({ "content": "one" });
    assert_eq!(with_key(&bench, &path, "n", &body).await.status, 200);
    bench.key = bench.person("ann", &[api::Scope::MemoriesRead]).await;
    assert_eq!(with_key(&bench, &path, "n", &body).await.status, 403);
    bench.key = "lsk_none".to_owned();
    assert_eq!(with_key(&bench, &path, "n", &body).await.status, 401);
}

#[tokio::test]
async fn idempotent_replay_after_a_hang_up_returns_the_result() {
    let settings =
        Settings { create_wait: Duration::from_secs(30), rate_per_minute: 0, ..Settings::default() };
    let bench = Arc::new(Bench::with(settings).await);
    let (path, body) = (format!("{P}/conversations"), json!({ "text": "Buy milk." }));
    let ask = |bench: Arc<Bench>| {
        let (path, body) = (path.clone(), body.clone());
        async move { with_key(&bench, &path, "k", &body).await }
    };
    let first = tokio::spawn(ask(Arc::clone(&bench)));
    while Operations::new(&bench.ledger).gauges().await.unwrap().oldest_nonterminal_age == 0.0 {
        tokio::task::yield_now().await;
    }
    first.abort();
    assert!(first.await.is_err_and(|ended| ended.is_cancelled()));
    assert_eq!(bench.complete_all(Queue::Creation).await, 1);
    let found = async {
        loop {
            let again = ask(Arc::clone(&bench)).await;
            if again.status != 409 {
                break again;
            }
        }
    };
    let again = tokio::time::timeout(Duration::from_secs(20), found).await.expect("within a minute");
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
    assert_eq!(again.body["status"], "completed");
}
