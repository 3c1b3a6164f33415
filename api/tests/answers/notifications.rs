//! `POST /v1/integrations/notification`.

use api::Settings;
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};

use crate::apps::{Servers, settings};
use crate::bench::{Answer, Bench};

const PATH: &str = "/v1/integrations/notification";

/// An app of Ann's that writes, Bob who installed it, and its key.
struct Scene {
    bench: Bench,
    app: String,
    key: String,
}

impl Scene {
    async fn new(chat: Value) -> Self {
        Self::at_rate(chat, 0).await
    }

    /// The same where an app may send so many requests a minute.
    async fn at_rate(chat: Value, app_rate_per_minute: u32) -> Self {
        let servers = Servers::new();
        servers.answer(Ok(json!({ "tools": [], "chat_messages": chat })));
        let bench = Bench::with(Settings { app_rate_per_minute, ..settings(&servers) }).await;
        let new =
            json!({ "name": "Writer", "manifest_url": "https://writer.example/m", "visibility": "public" });
        let app = bench.post("/v1/apps", new).await.body["id"].as_str().unwrap().to_owned();
        let key = bench.post(&format!("/v1/apps/{app}/keys"), json!({})).await.body["secret"]
            .as_str()
            .unwrap()
            .to_owned();
        let bob = bench.person("bob", api::Scope::ALL).await;
        let install = bench.ask(&bob, Method::POST, &format!("/v1/apps/enable?app_id={app}"), None).await;
        assert_eq!(install.status, 200);
        Self { bench, app, key }
    }

    fn body(&self, uid: &str, message: &str) -> Value {
        json!({ "uid": uid, "aid": self.app, "message": message })
    }

    async fn send(&self, body: Value) -> Answer {
        self.bench.ask(&self.key, Method::POST, PATH, Some(body)).await
    }

    async fn messages(&self) -> i64 {
        let pool = self.bench.database.pool(1).await;
        sqlx::query_scalar("select count(*) from chat_messages").fetch_one(&pool).await.unwrap()
    }
}

#[tokio::test]
async fn notification_checks_key_then_body_and_every_other_refusal_is_403() {
    let scene = Scene::new(json!({ "enabled": true })).await;
    let bench = &scene.bench;
    for key in ["lak_wrong", bench.key.as_str()] {
        let answer = bench.ask(key, Method::POST, PATH, Some(json!({}))).await;
        assert_eq!((answer.status.as_u16(), answer.header("www-authenticate")), (401, "Bearer"));
    }
    let missing = scene.send(json!({ "message": " " })).await;
    let kinds = missing.kinds();
    for field in ["uid", "aid"] {
        assert!(kinds.contains(&("missing", &json!(["body", field]))), "{missing:?}");
    }
    assert!(kinds.contains(&("value_error", &json!(["body", "message"]))), "{missing:?}");
    let unholdable = scene.send(json!({ "uid": "a\u{0}", "aid": "a\u{0}", "message": "a\u{0}" })).await;
    assert_eq!(unholdable.kinds().len(), 3, "{unholdable:?}");
    let refused = json!({ "detail": "The app may not write to this user" });
    // Ann has not installed her own app; there is no user Eve; and another app's id.
    let mut other = scene.body("bob", "hello");
    other["aid"] = json!("01993b1e-0000-7000-8000-000000000000");
    for body in [scene.body("ann", "hello"), scene.body("eve", "hello"), other] {
        let answer = scene.send(body).await;
        assert_eq!((answer.status.as_u16(), &answer.body), (403, &refused));
    }
    assert_eq!(scene.messages().await, 0);
}

#[tokio::test]
async fn notification_needs_the_manifests_permission() {
    let scene = Scene::new(json!({})).await;
    let answer = scene.send(scene.body("bob", "hello")).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body),
        (403, &json!({ "detail": "Chat messages are not enabled for this app" }))
    );
}

#[tokio::test]
async fn notification_limit_of_ten_an_hour_has_retry_after() {
    let scene = Scene::new(json!({ "enabled": true, "target": "main" })).await;
    for sent in 1..=10 {
        let answer = scene.send(scene.body("bob", &format!("message {sent}"))).await;
        assert_eq!(answer.body, json!({ "status": "Ok" }), "{answer:?}");
        assert_eq!(answer.header("ratelimit-policy"), "\"messages\";q=10;w=3600");
        assert!(
            answer.header("ratelimit").starts_with(&format!("\"messages\";r={};t=", 10 - sent)),
            "{answer:?}"
        );
    }
    let refused = scene.send(scene.body("bob", "one more")).await;
    assert_eq!(refused.status.as_u16(), 429);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    assert!(refused.header("ratelimit").starts_with("\"messages\";r=0;t="));
    assert_eq!(scene.messages().await, 10);
    // The oldest leaves the hour: exactly one more is let in.
    scene.bench.run("update app_installs set sends[1] = sends[1] - interval '1 hour'").await;
    assert_eq!(scene.send(scene.body("bob", "later")).await.status, 200);
    assert_eq!(scene.send(scene.body("bob", "too soon")).await.status.as_u16(), 429);
    let pool = scene.bench.database.pool(1).await;
    let row: (String, String, Option<String>, String) = sqlx::query_as(
        "select thread, sender, app_id::text, text from chat_messages where user_id = 'bob' order by created_at limit 1",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(row, ("main".into(), "app".into(), Some(scene.app.clone()), "message 1".into()));
}

#[tokio::test]
async fn notification_with_an_idempotency_key_is_sent_once() {
    let scene = Scene::new(json!({ "enabled": true, "notify": true })).await;
    let bob = scene.bench.person("bob", api::Scope::ALL).await;
    let subscription = json!({ "kind": "webhook", "url": "https://bob.example/push" });
    scene.bench.ask(&bob, Method::POST, "/v1/users/me/push-subscriptions", Some(subscription)).await;
    let named = |message: &str| {
        Request::post(PATH)
            .header("authorization", format!("Bearer {}", scene.key))
            .header("content-type", "application/json")
            .header("idempotency-key", "once")
            .body(Body::from(scene.body("bob", message).to_string()))
            .unwrap()
    };
    let first = scene.bench.send(named("hello")).await;
    let again = scene.bench.send(named("hello")).await;
    assert_eq!((first.body, again.body.clone()), (json!({ "status": "Ok" }), json!({ "status": "Ok" })));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(scene.bench.send(named("other")).await.status, 422);
    assert_eq!(scene.messages().await, 1);
    let pool = scene.bench.database.pool(1).await;
    let pushes: i64 = sqlx::query_scalar("select count(*) from push_deliveries where user_id = 'bob'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(pushes, 1);
}

#[tokio::test]
async fn notification_limit_survives_a_reinstall() {
    let scene = Scene::new(json!({ "enabled": true })).await;
    let bob = scene.bench.person("bob", api::Scope::ALL).await;
    for _ in 0..10 {
        scene.send(scene.body("bob", "hello")).await;
    }
    let path = format!("/v1/apps/disable?app_id={}", scene.app);
    assert_eq!(scene.bench.ask(&bob, Method::POST, &path, None).await.status, 200);
    assert_eq!(scene.send(scene.body("bob", "hello")).await.status, 403);
    let path = format!("/v1/apps/enable?app_id={}", scene.app);
    assert_eq!(scene.bench.ask(&bob, Method::POST, &path, None).await.status, 200);
    assert_eq!(scene.send(scene.body("bob", "hello")).await.status.as_u16(), 429);
}

#[tokio::test]
async fn notification_rate_limit_covers_all_keys_of_an_app() {
    let scene = Scene::at_rate(json!({ "enabled": true }), 2).await;
    for stranger in 0..2 {
        assert_eq!(scene.send(scene.body(&format!("stranger-{stranger}"), "hello")).await.status, 403);
    }
    let other_key = scene.bench.post(&format!("/v1/apps/{}/keys", scene.app), json!({})).await;
    let other_key = other_key.body["secret"].as_str().unwrap();
    for key in [scene.key.as_str(), other_key] {
        let refused = scene.bench.ask(key, Method::POST, PATH, Some(scene.body("bob", "hello"))).await;
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert_eq!((refused.status.as_u16(), (1..=30).contains(&wait)), (429, true), "{refused:?}");
    }
    assert_eq!(scene.messages().await, 0);
    scene.bench.run("update apps set requests_full_at = requests_full_at - interval '30 seconds'").await;
    assert_eq!(scene.send(scene.body("bob", "hello")).await.status, 200);
}
