//! `Idempotency-Key` on routes that add to the record in the path: append, and test deliveries.

use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn with_key(bench: &Bench, path: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json")
        .header("idempotency-key", "n");
    bench.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Two paths of one route, a body for both, and the path and pointer that list what was added to the first.
async fn routes(bench: &Bench) -> [(String, String, Value, String, &'static str); 2] {
    let said = json!({ "transcript_segments": [{ "text": "Hello.", "start": 0, "end": 1 }] });
    let mut ids = Vec::new();
    for number in 0..2 {
        let mut body = said.clone();
        body["defer_processing"] = json!(true);
        let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
        ids.push(format!("{P}/conversations/{}", made.body["id"].as_str().unwrap()));
        let made = bench
            .post(&format!("{P}/webhooks"), json!({ "url": format!("https://example.org/{number}") }))
            .await;
        ids.push(format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap()));
    }
    [
        (
            format!("{}/segments", ids[0]),
            format!("{}/segments", ids[2]),
            said,
            format!("{}?include_transcript=true", ids[0]),
            "/transcript_segments",
        ),
        (
            format!("{}/test", ids[1]),
            format!("{}/test", ids[3]),
            json!({}),
            format!("{}/deliveries", ids[1]),
            "",
        ),
    ]
}

async fn parts(bench: &Bench, list: &str, pointer: &str) -> usize {
    bench.get(list).await.body.pointer(pointer).unwrap().as_array().unwrap().len()
}

#[tokio::test]
async fn idempotent_append_and_webhook_test_act_once_after_a_lost_answer() {
    let bench = Bench::new().await;
    for (path, _, body, list, pointer) in routes(&bench).await {
        let first = with_key(&bench, &path, &body).await;
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let there = parts(&bench, &list, pointer).await;
        for lost in ["select", "update request_keys set answer = null, status = null, running_until = now()"]
        {
            bench.run(lost).await;
            let again = with_key(&bench, &path, &body).await;
            assert_eq!(
                (again.status.as_u16(), again.header("idempotency-replayed")),
                (200, "true"),
                "{path}"
            );
            assert_eq!(again.body, first.body, "{path}");
            assert_eq!(parts(&bench, &list, pointer).await, there, "{path}");
        }
    }
}

#[tokio::test]
async fn idempotency_key_reused_for_another_id_in_the_path_is_422() {
    let bench = Bench::new().await;
    for (path, other, body, ..) in routes(&bench).await {
        assert_eq!(with_key(&bench, &path, &body).await.status, 200);
        let refused = with_key(&bench, &other, &body).await;
        assert_eq!(refused.status, 422, "{other}: {refused:?}");
        assert_eq!(refused.kinds(), [("value_error", &json!(["header", "idempotency-key"]))]);
    }
}

#[tokio::test]
async fn append_and_webhook_test_of_a_missing_id_are_404_and_release_the_key() {
    let bench = Bench::new().await;
    for (path, _, body, ..) in routes(&bench).await {
        let last = path.rsplit_once('/').unwrap().1;
        let kind = if last == "test" { "webhooks" } else { "conversations" };
        // Random text: compressible text would fit into an index.
        let long: String =
            (0..4_000_u32).map(|n| char::from(b'a' + (n * n % 23 + n / 7 % 3) as u8)).collect();
        for id in ["unknown", &long] {
            let unknown = with_key(&bench, &format!("{P}/{kind}/{id}/{last}"), &body).await;
            assert_eq!(unknown.status, 404, "{unknown:?}");
        }
        assert_eq!(with_key(&bench, &path, &body).await.status, 200, "{path}");
    }
}
