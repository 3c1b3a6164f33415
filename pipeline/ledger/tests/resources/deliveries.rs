//! The life of one webhook delivery.

use std::time::Duration;

use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, DeliveryView, Redelivery, TestRefusal};
use records::{EventKind, WebhookFormat};
use secrecy::ExposeSecret;

use crate::world::World;

const RETRY: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

async fn with_one() -> World {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    world
}

async fn claim(world: &World) -> ClaimedDelivery {
    world.claim_deliveries(1).await.pop().expect("one is due")
}

async fn finish(world: &World, claimed: &ClaimedDelivery, outcome: DeliveryOutcome) -> bool {
    world.ledger.outbox().finish_delivery(claimed, outcome, &DeliveryPolicy::default()).await.unwrap()
}

async fn view(world: &World) -> DeliveryView {
    world
        .ledger
        .outbox()
        .deliveries(&world.ann, "w", &outbox::DeliveryPage::first(1))
        .await
        .unwrap()
        .pop()
        .unwrap()
}

/// Lets 30 hours pass: every pending delivery is due, and every sender has died.
async fn later(world: &World) {
    world
        .run(
            "update webhook_deliveries set next_at = next_at - interval '30 hours', \
                 sending_until = sending_until - interval '30 hours'; \
             update webhook_endpoints set open_until = open_until - interval '30 hours'",
        )
        .await;
}

#[tokio::test]
async fn delivery_is_claimed_once_rendered_once_and_delivered() {
    let world = with_one().await;
    let claimed = claim(&world).await;
    assert_eq!((claimed.delivery_id.as_str(), claimed.epoch, claimed.try_number), ("w_0", 1, 1));
    assert_eq!(
        (claimed.event, claimed.format),
        (Some(EventKind::ConversationCompleted), WebhookFormat::Full)
    );
    assert_eq!(claimed.secret.expose_secret(), "whsec_c2VjcmV0");
    assert!(world.claim_deliveries(9).await.is_empty());
    assert!(world.ledger.outbox().keep_body(&claimed, b"{}").await.unwrap());
    assert!(finish(&world, &claimed, DeliveryOutcome::Delivered { status: 204 }).await);
    let view = view(&world).await;
    assert_eq!((view.status.as_str(), view.tries, view.last_status), ("delivered", 1, Some(204)));
    assert!(view.finished_at.is_some());
    assert_eq!(world.count("select count(*) from webhook_deliveries where body is not null").await, 0);
    assert!(
        world.ledger.outbox().endpoint(&world.ann, "w").await.unwrap().unwrap().last_success_at.is_some()
    );
    assert_eq!(world.ledger.outbox().next_delivery_in().await.unwrap(), None);
}

#[tokio::test]
async fn failed_try_is_retried_by_the_schedule_with_the_same_body() {
    let world = with_one().await;
    let first = claim(&world).await;
    world.ledger.outbox().keep_body(&first, b"once").await.unwrap();
    assert!(finish(&world, &first, RETRY).await);
    let wait = world.ledger.outbox().next_delivery_in().await.unwrap().unwrap();
    assert!(wait > Duration::from_secs(1) && wait <= Duration::from_secs(5), "{wait:?}");
    later(&world).await;
    let second = claim(&world).await;
    assert_eq!((second.epoch, second.try_number, second.body.as_deref()), (2, 2, Some(b"once".as_slice())));
    let wish = DeliveryOutcome::Retry {
        status: Some(429),
        error: "status",
        retry_after: Some(Duration::from_secs(10 * 86_400)),
        jitter_permille: 0,
    };
    assert!(finish(&world, &second, wish).await);
    let wait = world.ledger.outbox().next_delivery_in().await.unwrap().unwrap();
    assert!(
        wait > Duration::from_secs(86_300) && wait <= Duration::from_secs(86_400),
        "a day at most: {wait:?}"
    );
}

#[tokio::test]
async fn delivery_is_exhausted_at_the_end_of_its_schedule() {
    let world = with_one().await;
    for number in 1..=11 {
        let claimed = claim(&world).await;
        assert_eq!(claimed.try_number, number);
        assert!(finish(&world, &claimed, RETRY).await);
        later(&world).await;
    }
    let view = view(&world).await;
    assert_eq!(
        (view.status.as_str(), view.tries, view.last_error.as_deref()),
        ("exhausted", 11, Some("status"))
    );
    let tries: Vec<i32> = view.history.iter().map(|tried| tried.number).collect();
    assert_eq!(tries, (1..=11).collect::<Vec<_>>());
    assert!(view.history.iter().all(|tried| tried.error.as_deref() == Some("status")));
    // A redelivery starts another round; the newest twelve tries stay in the history.
    for _ in 0..2 {
        world.ledger.outbox().redeliver(&world.ann, "w", "w_0").await.unwrap();
        assert!(finish(&world, &claim(&world).await, DeliveryOutcome::Delivered { status: 204 }).await);
    }
    let again = self::view(&world).await.history;
    let numbers: Vec<i32> = again.iter().map(|tried| tried.number).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 1]);
    assert_eq!((again[11].status, again[11].error.as_deref()), (Some(204), None));
    assert!(world.claim_deliveries(1).await.is_empty());
}

#[tokio::test]
async fn dead_sender_is_fenced_by_the_next_claim() {
    let world = with_one().await;
    let dead = claim(&world).await;
    later(&world).await;
    let next = claim(&world).await;
    assert_eq!((next.epoch, next.try_number), (2, 2));
    assert!(!world.ledger.outbox().keep_body(&dead, b"late").await.unwrap());
    assert!(!finish(&world, &dead, DeliveryOutcome::Delivered { status: 200 }).await, "its claim is lost");
    assert!(
        world.ledger.outbox().endpoint(&world.ann, "w").await.unwrap().unwrap().last_success_at.is_none()
    );
    assert!(finish(&world, &next, DeliveryOutcome::Delivered { status: 200 }).await);
}

#[tokio::test]
async fn keep_body_is_refused_after_the_claim_expired() {
    let world = with_one().await;
    let late = claim(&world).await;
    later(&world).await;
    assert!(!world.ledger.outbox().keep_body(&late, b"late").await.unwrap());
    assert_eq!(world.count("select count(*) from webhook_deliveries where body is not null").await, 0);
}

#[tokio::test]
async fn finish_delivery_is_idempotent() {
    for outcome in [
        DeliveryOutcome::Delivered { status: 204 },
        RETRY,
        DeliveryOutcome::Final { status: Some(400), error: "status" },
        DeliveryOutcome::Gone,
        DeliveryOutcome::Cancelled,
    ] {
        let world = with_one().await;
        let claimed = claim(&world).await;
        assert!(finish(&world, &claimed, outcome).await);
        let before = view(&world).await;
        let marks = "select consecutive_failures from webhook_endpoints";
        let failures: i32 = world.value(marks).await;
        assert!(finish(&world, &claimed, outcome).await, "{outcome:?}");
        assert_eq!(view(&world).await, before);
        assert_eq!(sqlx::query_scalar::<_, i32>(marks).fetch_one(&world.pool).await.unwrap(), failures);
    }
}

#[tokio::test]
async fn finish_delivery_is_refused_after_another_claim_finished() {
    let world = with_one().await;
    let dead = claim(&world).await;
    later(&world).await;
    let next = claim(&world).await;
    let refused = DeliveryOutcome::Final { status: Some(503), error: "status" };
    assert!(finish(&world, &next, refused).await);
    assert!(!finish(&world, &dead, refused).await, "another claim finished it");
    assert!(!finish(&world, &next, RETRY).await, "it was finished with another outcome");

    let world = with_one().await;
    world.run("update webhook_deliveries set tries = 10").await;
    let last = claim(&world).await;
    later(&world).await;
    assert!(world.claim_deliveries(1).await.is_empty());
    assert_eq!(view(&world).await.last_error.as_deref(), Some("abandoned"));
    assert!(!finish(&world, &last, RETRY).await, "it was given up for a sender that died");
}

#[tokio::test]
async fn delivery_whose_senders_always_die_is_given_up() {
    let world = with_one().await;
    for _ in 1..=11 {
        claim(&world).await;
        later(&world).await;
    }
    assert!(world.claim_deliveries(1).await.is_empty());
    let view = view(&world).await;
    assert_eq!((view.status.as_str(), view.last_error.as_deref()), ("exhausted", Some("abandoned")));
}

#[tokio::test]
async fn final_and_cancelled_deliveries_are_not_retried() {
    for (outcome, status) in [
        (DeliveryOutcome::Final { status: Some(400), error: "status" }, "exhausted"),
        (DeliveryOutcome::Cancelled, "cancelled"),
    ] {
        let world = with_one().await;
        let claimed = claim(&world).await;
        world.ledger.outbox().keep_body(&claimed, b"{}").await.unwrap();
        assert!(finish(&world, &claimed, outcome).await);
        later(&world).await;
        assert_eq!(view(&world).await.status, status);
        assert!(world.claim_deliveries(1).await.is_empty());
    }
}

#[tokio::test]
async fn gone_disables_the_endpoint_and_cancels_its_pending_deliveries() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.endpoint(&world.ann, "other").await;
    world.pending(&world.ann, "w", 3).await;
    world.pending(&world.ann, "other", 1).await;
    let claimed = claim(&world).await;
    assert!(finish(&world, &claimed, DeliveryOutcome::Gone).await);
    let endpoint = world.ledger.outbox().endpoint(&world.ann, "w").await.unwrap().unwrap();
    assert_eq!((endpoint.enabled, endpoint.disabled_reason.as_deref()), (false, Some("gone")));
    let of = |status| {
        let sql = "select count(*) from webhook_deliveries where endpoint_id = 'w' and status = $1";
        sqlx::query_scalar::<_, i64>(sql).bind(status).fetch_one(&world.pool)
    };
    assert_eq!((of("exhausted").await.unwrap(), of("cancelled").await.unwrap()), (1, 2));
    assert_eq!(claim(&world).await.endpoint_id, "other", "no other endpoint is touched");
}

#[tokio::test]
async fn test_delivery_is_idempotent_and_sent_like_any_other() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    assert_eq!(
        world.ledger.outbox().test_delivery(&world.bob, "w", "t1").await.unwrap(),
        Err(TestRefusal::Missing)
    );
    let written = world.ledger.outbox().test_delivery(&world.ann, "w", "t1").await.unwrap().unwrap();
    assert_eq!((written.event.as_str(), written.status.as_str()), ("webhook.test", "pending"));
    assert_eq!(world.ledger.outbox().test_delivery(&world.ann, "w", "t1").await.unwrap(), Ok(written));
    let claimed = claim(&world).await;
    assert_eq!((claimed.event, claimed.delivery_id.as_str()), (None, "t1"));
}

#[tokio::test]
async fn redeliver_starts_another_round_of_a_finished_delivery() {
    let world = with_one().await;
    assert_eq!(world.ledger.outbox().redeliver(&world.ann, "w", "none").await.unwrap(), Redelivery::Missing);
    assert_eq!(world.ledger.outbox().redeliver(&world.bob, "w", "w_0").await.unwrap(), Redelivery::Missing);
    assert_eq!(
        world.ledger.outbox().redeliver(&world.ann, "w", "w_0").await.unwrap(),
        Redelivery::UnderWay,
        "still under way"
    );
    let claimed = claim(&world).await;
    finish(&world, &claimed, DeliveryOutcome::Final { status: Some(404), error: "status" }).await;
    let Redelivery::Due(again) = world.ledger.outbox().redeliver(&world.ann, "w", "w_0").await.unwrap()
    else {
        panic!("it has ended");
    };
    assert_eq!((again.status.as_str(), again.tries), ("pending", 0));
    let claimed = claim(&world).await;
    assert_eq!((claimed.delivery_id.as_str(), claimed.try_number, claimed.epoch), ("w_0", 1, 2));
}

#[tokio::test]
async fn claim_skips_an_event_of_an_unknown_version() {
    let world = with_one().await;
    world
        .run("update webhook_deliveries set event = 'moon.risen', next_at = next_at - interval '1 hour'")
        .await;
    world.endpoint(&world.ann, "other").await;
    world.pending(&world.ann, "other", 1).await;
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].endpoint_id, "other");
}
