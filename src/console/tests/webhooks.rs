//! Webhook endpoints and deliveries: their pages, and retrying a delivery.

use axum::http::StatusCode;
use outbox::{DeliveryOutcome, DeliveryPolicy, NewEndpoint};
use records::{EventKind, UserId, WebhookFormat};
use secrecy::SecretString;

use super::world::{Who, World};

/// Ann's endpoint, to which a test delivery went and was refused.
async fn with_one_lost() -> World {
    let world = World::with_keys().await;
    let ann = UserId::new("ann");
    let new = NewEndpoint {
        force: true,
        id: "w".to_owned(),
        url: "https://ann:pass@hooks.example/of/ann?token=secret".to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: SecretString::from("whsec_c2VjcmV0"),
    };
    world.ledger.outbox().create_endpoint(&ann, &new).await.unwrap().unwrap();
    world.ledger.outbox().test_delivery(&ann, "w", "d").await.unwrap().unwrap();
    let policy = DeliveryPolicy::default();
    let claimed =
        world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed.pop().unwrap();
    let refused = DeliveryOutcome::Final { status: Some(404), error: "status" };
    assert!(world.ledger.outbox().finish_delivery(&claimed, refused, &policy).await.unwrap());
    world
}

const ENDPOINT: &str = "/console/webhooks/endpoint?user=ann&endpoint=w";
const DELIVERY: &str = "/console/webhooks/delivery?user=ann&endpoint=w&delivery=d";

#[tokio::test]
async fn webhook_page_shows_deliveries_without_secrets() {
    let world = with_one_lost().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for (path, words) in [
        (ENDPOINT.to_owned(), ["https://hooks.example", "given up", "404"]),
        (DELIVERY.to_owned(), ["https://hooks.example", "given up", "the answer was not a 2xx"]),
        (format!("{ENDPOINT}&status=exhausted"), ["webhook.test", "delivery=d", "404"]),
    ] {
        let page = world.get(&path, ron).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        for word in words {
            assert!(page.text.contains(word), "{path} lacks {word}: {}", page.text);
        }
        for secret in ["pass", "secret", "/of/", "whsec", "…</a>"] {
            assert!(!page.text.contains(secret), "{path} shows {secret}");
        }
    }
    for (path, status) in [
        ("/console/webhooks/endpoint?user=bob&endpoint=w", StatusCode::NOT_FOUND),
        ("/console/webhooks/delivery?user=ann&endpoint=w&delivery=e", StatusCode::NOT_FOUND),
        ("/console/webhooks/endpoint?user=ann&endpoint=w&status=lost", StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        assert_eq!(world.get(path, ron).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn webhook_pages_are_per_user() {
    let world = with_one_lost().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for (user, shown) in [("", true), ("ann", true), ("bob", false)] {
        let page = world.get(&format!("/console/webhooks?user={user}"), ron).await;
        assert_eq!(page.text.contains("webhook.test"), shown, "{user}: {}", page.text);
    }
}

#[tokio::test]
async fn operator_retries_a_delivery_once_with_a_reason() {
    let world = with_one_lost().await;
    let path = "/console/webhooks/redeliver";
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let asked = world.get(&format!("{path}?user=ann&endpoint=w&delivery=d"), olga).await;
    let named = [("token", asked.token()), ("user", "ann"), ("endpoint", "w"), ("delivery", "d")];
    let with = |reason| [&named[..], &[("reason", reason)]].concat();
    assert_eq!(world.post(path, &named, olga).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    assert_eq!(world.post(path, &with("let me"), ron).await.status, StatusCode::FORBIDDEN);

    let done = world.post(path, &with("it is mended"), olga).await;
    assert_eq!(done.location(), format!("{DELIVERY}&done=redelivered"));
    let page = world.get(done.location(), olga).await;
    assert!(page.text.contains("It is due again.") && page.text.contains("it is mended"), "{}", page.text);
    assert_eq!(world.post(path, &with("and again"), olga).await.status, StatusCode::CONFLICT);
}
