//! Endpoints and their deliveries.

use axum::http::Method;
use outbox::{DeliveryOutcome, DeliveryPolicy};
use serde_json::json;

use crate::bench::{Bench, P};

#[tokio::test]
async fn webhook_secret_is_shown_once_and_endpoint_is_changed_and_deleted() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org/hook" })).await;
    assert_eq!(made.status, 200, "{made:?}");
    assert!(made.body["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(made.body["events"], json!(["conversation.completed"]));
    assert_eq!(made.body["format"], "full");
    let path = format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap());
    let shown = bench.get(&path).await;
    assert!(shown.body.get("secret").is_none());
    assert_eq!(bench.get(&format!("{P}/webhooks")).await.body, json!([shown.body]));
    let change = json!({ "format": "thin", "enabled": false });
    let changed = bench.ask(&bench.key, Method::PATCH, &path, Some(change)).await;
    assert_eq!((&changed.body["format"], &changed.body["enabled"]), (&json!("thin"), &json!(false)));
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.body, json!({ "success": true }));
    assert_eq!(bench.get(&path).await.body, json!({ "detail": "Webhook not found" }));
}

#[tokio::test]
async fn webhook_with_a_refused_url_or_unknown_event_is_422() {
    let bench = Bench::new().await;
    let body = json!({ "url": "http://127.0.0.1", "events": ["conversation.eaten"], "format": "thick" });
    let answer = bench.post(&format!("{P}/webhooks"), body).await;
    assert_eq!(
        answer.kinds(),
        [
            ("value_error", &json!(["body", "url"])),
            ("enum", &json!(["body", "events", 0])),
            ("enum", &json!(["body", "format"])),
        ]
    );
    let path = format!("{P}/webhooks/unknown");
    let change = json!({ "url": "http://127.0.0.1" });
    let changed = bench.ask(&bench.key, Method::PATCH, &path, Some(change)).await;
    assert_eq!(changed.kinds(), [("value_error", &json!(["body", "url"]))]);
    let empty = bench.ask(&bench.key, Method::PATCH, &path, Some(json!({}))).await;
    assert_eq!(empty.kinds(), [("value_error", &json!(["body"]))], "the body comes before 404");
}

#[tokio::test]
async fn webhook_test_delivery_is_written_and_listed() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org/hook" })).await;
    let path = format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap());
    let test = bench.ask(&bench.key, Method::POST, &format!("{path}/test"), None).await;
    assert_eq!(test.status, 200, "{test:?}");
    assert_eq!((&test.body["event"], &test.body["status"]), (&json!("webhook.test"), &json!("pending")));
    let listed = bench.get(&format!("{path}/deliveries")).await;
    assert_eq!(listed.body[0]["id"], test.body["id"]);
    let again = format!("{path}/deliveries/{}/redeliver", test.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::POST, &again, None).await.status, 409, "it is still under way");
    for (path, kind) in [
        (format!("{path}/deliveries/unknown/redeliver"), "Delivery"),
        (format!("{P}/webhooks/unknown/deliveries/x/redeliver"), "Webhook"),
        (format!("{P}/webhooks/unknown/test"), "Webhook"),
    ] {
        let answer = bench.ask(&bench.key, Method::POST, &path, None).await;
        assert_eq!(answer.body, json!({ "detail": format!("{kind} not found") }), "{path}");
    }
    bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "enabled": false }))).await;
    let refused = bench.ask(&bench.key, Method::POST, &format!("{path}/test"), None).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body, json!({ "detail": "The webhook is disabled: enable it first" }));
}

#[tokio::test]
async fn refused_webhook_address_looks_like_an_unknown_name_to_its_owner() {
    let bench = Bench::new().await;
    let mut seen = Vec::new();
    for error in ["unreachable", "refused_address"] {
        let url = format!("https://{error}.example.org/hook");
        let made = bench.post(&format!("{P}/webhooks"), json!({ "url": url })).await;
        let path = format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap());
        bench.ask(&bench.key, Method::POST, &format!("{path}/test"), None).await;
        let policy = DeliveryPolicy::default();
        let claimed =
            bench.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed.remove(0);
        let outcome = DeliveryOutcome::Retry { status: None, error, retry_after: None, jitter_permille: 0 };
        assert!(bench.ledger.outbox().finish_delivery(&claimed, outcome, &policy).await.unwrap());
        let mut listed = bench.get(&format!("{path}/deliveries")).await.body[0].clone();
        assert!(listed["next_at"].is_string(), "it is tried again: {listed}");
        for own in ["id", "created_at", "next_at"] {
            listed[own].take();
        }
        listed["history"][0]["at"].take();
        let endpoint = bench.get(&path).await.body;
        seen.push((listed, endpoint["failing_since"].is_string(), endpoint["disabled_reason"].clone()));
    }
    assert_eq!(seen[0].0["last_error"], "unreachable");
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn webhook_secret_rotation_shows_the_new_secret_once() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org/hook" })).await;
    let path = format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap());
    let rotated = bench.ask(&bench.key, Method::POST, &format!("{path}/rotate-secret"), None).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    let secret = rotated.body["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));
    assert_ne!(rotated.body["secret"], made.body["secret"]);
    assert!(bench.get(&path).await.body.get("secret").is_none());
    let unknown = bench.ask(&bench.key, Method::POST, &format!("{P}/webhooks/x/rotate-secret"), None).await;
    assert_eq!((unknown.status.as_u16(), &unknown.body["detail"]), (404, &json!("Webhook not found")));
}

#[tokio::test]
async fn webhook_recovery_takes_a_time_and_returns_the_count() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org/hook" })).await;
    let path = format!("{P}/webhooks/{}/recover", made.body["id"].as_str().unwrap());
    assert_eq!(
        bench.post(&path, json!({ "since": "2026-01-01" })).await.body,
        json!({ "recovered": 0, "next_since": null })
    );
    assert_eq!(bench.post(&path, json!({})).await.kinds(), [("missing", &json!(["body", "since"]))]);
    let future = bench.post(&path, json!({ "since": "2996-01-01T00:00:00Z" })).await;
    assert_eq!(future.kinds(), [("value_error", &json!(["body", "since"]))]);
    let late = bench.post(&path, json!({ "since": "yesterday" })).await;
    assert_eq!(late.kinds()[0].1, &json!(["body", "since"]));
    let unknown = bench.post(&format!("{P}/webhooks/x/recover"), json!({ "since": "2026-01-01" })).await;
    assert_eq!((unknown.status.as_u16(), &unknown.body["detail"]), (404, &json!("Webhook not found")));
}

#[tokio::test]
async fn webhook_limit_of_twenty_is_409() {
    let bench = Bench::new().await;
    let path = format!("{P}/webhooks");
    let hook = |number: u32| json!({ "url": format!("https://example.org/hook/{number}") });
    let first = bench.post(&path, hook(0)).await.body["id"].as_str().unwrap().to_owned();
    for number in 1..20 {
        assert_eq!(bench.post(&path, hook(number)).await.status, 200);
    }
    let refused = bench.post(&path, hook(20)).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["detail"]),
        (409, &json!("There are 20 webhooks already"))
    );
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &format!("{path}/{first}"), None).await.status, 200);
    assert_eq!(bench.post(&path, hook(20)).await.status, 200);
}

#[tokio::test]
async fn webhook_with_a_duplicate_url_needs_force() {
    let bench = Bench::new().await;
    let path = format!("{P}/webhooks");
    let hook = json!({ "url": "https://example.org/hook" });
    assert_eq!(bench.post(&path, hook.clone()).await.status, 200);
    let refused = bench.post(&path, hook.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.beside.as_deref()), (409, Some("webhook_exists")));
    let bob = bench.person("bob", api::Scope::ALL).await;
    assert_eq!(bench.ask(&bob, Method::POST, &path, Some(hook)).await.status, 200, "it is the user's own");
    let forced = json!({ "url": "https://example.org/hook", "force": true });
    assert_eq!(bench.post(&path, forced).await.status, 200);
    assert_eq!(bench.get(&path).await.body.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn webhook_change_to_a_duplicate_url_needs_force() {
    let bench = Bench::new().await;
    let path = format!("{P}/webhooks");
    let hook = |name: &str| json!({ "url": format!("https://example.org/{name}") });
    assert_eq!(bench.post(&path, hook("first")).await.status, 200);
    let second = bench.post(&path, hook("second")).await;
    let one = format!("{path}/{}", second.body["id"].as_str().unwrap());
    let patch = async |change| bench.ask(&bench.key, Method::PATCH, &one, Some(change)).await;

    let refused = patch(json!({ "url": "https://example.org/first", "enabled": false })).await;
    assert_eq!((refused.status.as_u16(), refused.beside.as_deref()), (409, Some("webhook_exists")));
    let unchanged = bench.get(&one).await.body;
    assert_eq!((&unchanged["url"], &unchanged["enabled"]), (&hook("second")["url"], &json!(true)));
    assert_eq!(patch(hook("second")).await.status, 200, "its own URL is no other's");
    assert_eq!(patch(json!({ "force": true })).await.status, 422, "nothing to change");

    let forced = json!({ "url": "https://example.org/first", "force": true });
    assert_eq!(patch(forced).await.body["url"], hook("first")["url"]);
    assert_eq!(patch(hook("first")).await.status, 200, "what was forced may be said again");
    let missing = bench.ask(&bench.key, Method::PATCH, &format!("{path}/none"), Some(hook("first"))).await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn delivery_list_filters_by_status() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org/hook" })).await;
    let path = format!("{P}/webhooks/{}", made.body["id"].as_str().unwrap());
    bench.post(&format!("{path}/test"), json!({})).await;
    let list = async |status: &str| bench.get(&format!("{path}/deliveries?status={status}")).await;
    assert_eq!(list("pending").await.body[0]["history"], json!([]));
    assert_eq!(list("delivered").await.body, json!([]));
    assert_eq!(list("lost").await.kinds(), [("enum", &json!(["query", "status"]))]);
}
