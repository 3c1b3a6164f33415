//! Dispatchers are woken by deliveries and pushes that they can send, and by nothing else: without a wake-up the next
//! poll would send later, and a needless one costs a query.

use futures::FutureExt;
use ledger::NewActionItem;
use operations::Operations;
use outbox::{
    DeliveryOutcome, DeliveryPolicy, EndpointChange, Redelivery, deliveries::recover::RECOVERS_FOR,
};
use records::{ActionItemId, EventKind, UserId};

use crate::{
    created_events::create,
    reminders::{in_an_hour, subscribe},
    world::{World, olga},
};

/// Whether the webhook dispatchers were woken since the last call.
fn is_woken(world: &World) -> bool {
    world.ledger.db().waker().deliveries_waiting().now_or_never().is_some()
}

/// Ann's endpoint `w` with one given-up delivery.
async fn with_one_given_up() -> World {
    let world = World::new().await;
    world.endpoint_for(&world.ann, "w", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    world.pending(&world.ann, "w", 1).await;
    give_up(&world).await;
    world
}

async fn give_up(world: &World) {
    let mut claims = world.claim_deliveries(9).await;
    let outcome = DeliveryOutcome::Final { status: Some(404), error: "status" };
    world
        .ledger
        .outbox()
        .finish_delivery(&claims.remove(0), outcome, &DeliveryPolicy::default())
        .await
        .unwrap();
    let _before = is_woken(world);
}

#[tokio::test]
async fn dispatchers_are_woken_by_created_items_of_subscribed_endpoints() {
    let world = World::new().await;
    world.endpoint_for(&world.ann, "w", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    assert!(!is_woken(&world));
    for (user, expected) in [(&world.bob, false), (&world.ann, true)] {
        create(&world, user, &["i"], &[]).await;
        assert_eq!(is_woken(&world), expected, "an item of {user}'s");
        create(&world, user, &[], &["m"]).await;
        assert_eq!(is_woken(&world), expected, "a memory of {user}'s");
    }
}

#[tokio::test]
async fn push_dispatchers_are_woken_by_a_due_date_of_a_subscribed_user() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/ann").await;
    let due_at = in_an_hour(&world).await;
    let is_woken = || world.ledger.db().waker().pushes_waiting().now_or_never().is_some();
    let _before = is_woken();
    for (due_at, expected) in [(None, false), (Some(due_at), true)] {
        let id = ActionItemId::new(format!("{due_at:?}"));
        let item = NewActionItem { id, description: "Call Tom".into(), completed: false, due_at };
        world.ledger.create_action_items(&world.ann, &[item]).await.unwrap();
        assert_eq!(is_woken(), expected, "{due_at:?}");
    }
}

#[tokio::test]
async fn dispatchers_are_woken_by_an_owners_recover_redeliver_and_test() {
    let world = with_one_given_up().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let since = ledger.db().now().await.unwrap() - chrono::TimeDelta::days(1);
    assert_eq!(
        ledger.outbox().recover(ann, "w", since, RECOVERS_FOR).await.unwrap().map(|it| it.deliveries),
        Some(1)
    );
    assert!(is_woken(&world));
    assert_eq!(
        ledger.outbox().recover(ann, "w", since, RECOVERS_FOR).await.unwrap().map(|it| it.deliveries),
        Some(0)
    );
    assert!(!is_woken(&world), "there was nothing to recover");

    give_up(&world).await;
    assert!(matches!(ledger.outbox().redeliver(ann, "w", "w_0").await.unwrap(), Redelivery::Due(_)));
    assert!(is_woken(&world));
    assert_eq!(ledger.outbox().redeliver(ann, "w", "w_0").await.unwrap(), Redelivery::UnderWay);
    assert!(!is_woken(&world), "it is under way");

    assert!(ledger.outbox().test_delivery(ann, "w", "t").await.unwrap().is_ok());
    assert!(is_woken(&world));
    assert!(ledger.outbox().test_delivery(&world.bob, "w", "t").await.unwrap().is_err());
    assert!(!is_woken(&world), "there is no such endpoint");
}

#[tokio::test]
async fn dispatchers_are_woken_by_an_operators_recover_and_redeliver() {
    let world = with_one_given_up().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let now = ledger.db().now().await.unwrap();
    let since = now - chrono::TimeDelta::days(1);
    let recover =
        async || Operations::new(ledger).recover_deliveries(ann, "w", since, now, 9, &olga()).await.unwrap();
    assert_eq!(recover().await, Some(1));
    assert!(is_woken(&world));
    assert_eq!(recover().await, Some(0));
    assert!(!is_woken(&world), "there was nothing to recover");

    give_up(&world).await;
    Operations::new(ledger).redeliver_for_operator(ann, "w", "w_0", &olga()).await.unwrap();
    assert!(is_woken(&world));
    Operations::new(ledger).redeliver_for_operator(ann, "w", "w_0", &olga()).await.unwrap();
    assert!(!is_woken(&world), "it is under way");
}

#[tokio::test]
async fn dispatchers_are_woken_by_enabling_an_endpoint() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    let enable = |enabled| EndpointChange { enabled, ..EndpointChange::default() };
    let change = async |user: &UserId, enabled| {
        let _missing_for_bob =
            world.ledger.outbox().change_endpoint(user, "w", &enable(enabled)).await.unwrap();
        is_woken(&world)
    };
    assert!(!change(&world.ann, Some(false)).await);
    assert!(!change(&world.ann, None).await);
    assert!(!change(&world.bob, Some(true)).await, "bob has no such endpoint");
    assert!(change(&world.ann, Some(true)).await);

    world.run("update webhook_endpoints set enabled = false, disabled_reason = 'failing'").await;
    world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap();
    assert!(is_woken(&world));
    world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap();
    assert!(!is_woken(&world), "it is enabled already");
}
