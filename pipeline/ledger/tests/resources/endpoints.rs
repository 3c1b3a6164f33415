//! Webhook endpoints: create, change, delete, disable.

use outbox::{EndpointChange, EndpointChangeRefusal};
use records::{EventKind, WebhookFormat};

use crate::world::World;

#[tokio::test]
async fn endpoint_is_created_changed_and_deleted_by_its_owner_only() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w1").await;
    world.endpoint(&world.ann, "w2").await;
    let ids: Vec<_> =
        world.ledger.outbox().endpoints(&world.ann).await.unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, ["w2", "w1"], "newest first");
    assert!(world.ledger.outbox().endpoints(&world.bob).await.unwrap().is_empty());
    assert_eq!(world.ledger.outbox().endpoint(&world.bob, "w1").await.unwrap(), None);

    let change = EndpointChange {
        url: Some("https://example.com/new".into()),
        events: Some(vec![EventKind::MemoryCreated]),
        format: Some(WebhookFormat::Thin),
        enabled: None,
        force: false,
    };
    assert_eq!(
        world.ledger.outbox().change_endpoint(&world.bob, "w1", &change).await.unwrap(),
        Err(EndpointChangeRefusal::Missing)
    );
    let changed = world.ledger.outbox().change_endpoint(&world.ann, "w1", &change).await.unwrap().unwrap();
    assert_eq!(changed.url, "https://example.com/new");
    assert_eq!(
        (changed.events.as_slice(), changed.format),
        ([EventKind::MemoryCreated].as_slice(), WebhookFormat::Thin)
    );
    assert!(changed.enabled && changed.disabled_reason.is_none());
    assert_eq!(world.ledger.outbox().endpoint(&world.ann, "w1").await.unwrap(), Some(changed));

    world.pending(&world.ann, "w1", 3).await;
    assert!(!world.ledger.outbox().delete_endpoint(&world.bob, "w1").await.unwrap());
    assert!(world.ledger.outbox().delete_endpoint(&world.ann, "w1").await.unwrap());
    assert!(!world.ledger.outbox().delete_endpoint(&world.ann, "w1").await.unwrap());
    assert_eq!(
        world.count("select count(*) from webhook_deliveries").await,
        0,
        "its deliveries went with it"
    );
}

#[tokio::test]
async fn deliveries_of_a_disabled_endpoint_wait_until_it_is_enabled() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 2).await;
    let set = async |enabled| {
        let change = EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap()
    };
    assert_eq!(set(false).await.disabled_reason.as_deref(), Some("by_owner"));
    assert!(world.claim_deliveries(9).await.is_empty());
    assert_eq!(
        world.ledger.outbox().next_delivery_in().await.unwrap(),
        None,
        "no dispatcher polls for parked deliveries"
    );
    let waiting =
        world.ledger.outbox().deliveries(&world.ann, "w", &outbox::DeliveryPage::first(9)).await.unwrap();
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|delivery| delivery.status == "pending" && delivery.next_at.is_none()));

    world.run("update webhook_endpoints set failing_since = now(), consecutive_failures = 7").await;
    let enabled = set(true).await;
    assert!(enabled.enabled && enabled.disabled_reason.is_none() && enabled.failing_since.is_none());
    assert_eq!(world.claim_deliveries(9).await.len(), 2);
}

/// More deliveries than one statement deletes; those of another endpoint stay.
#[tokio::test]
async fn delete_endpoint_ends_however_many_deliveries_it_has() {
    let world = World::new().await;
    for endpoint in ["w", "other"] {
        world.endpoint(&world.ann, endpoint).await;
    }
    world.database.seed(&["insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
         select 'ann', endpoint, 'd' || n, 'conversation.completed', 'exhausted', now(), now() \
         from generate_series(1, 4500) n, unnest(array['w', 'other']) endpoint"]).await;
    assert!(world.ledger.outbox().delete_endpoint(&world.ann, "w").await.unwrap());
    assert_eq!(world.count("select count(*) from webhook_deliveries where endpoint_id = 'w'").await, 0);
    assert_eq!(world.count("select count(*) from webhook_deliveries").await, 4_500);
    assert!(!world.ledger.outbox().delete_endpoint(&world.ann, "w").await.unwrap());
}
