//! Deliveries that an operator retries at once.

use operations::{ActionFilter, TriedNow};
use outbox::DeliveryPolicy;

use crate::webhook_isolation::changes_only_own;
use crate::world::{World, olga};

/// Ann's `w` and `v` and Bob's `w` with open breakers; at each, deliveries that wait for an hour, one that is being
/// sent and one that was given up.
async fn with_open_breakers() -> World {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world
        .run(
            "update webhook_endpoints set consecutive_failures = 9, failing_since = now(), \
                 open_until = now() + interval '1 minute'; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, tries, \
                     sending_until, finished_at, occurred_at) \
                 select user_id, endpoint_id, d, 'conversation.completed', status, \
                     case when status = 'pending' then now() + interval '1 hour' end, 4, \
                     case when status = 'sending' then now() + interval '1 minute' end, \
                     case when status = 'exhausted' then now() end, now() \
                 from webhook_endpoints, (values ('first', 'pending'), ('second', 'pending'), ('third', 'pending'), \
                     ('sent', 'sending'), ('lost', 'exhausted')) t (d, status)",
        )
        .await;
    world
}

async fn due(world: &World) -> Vec<String> {
    world
        .list(
            "select user_id || '/' || endpoint_id || '/' || delivery_id from webhook_deliveries \
         where status = 'pending' and next_at <= now() order by 1",
        )
        .await
}

async fn subjects(world: &World) -> Vec<Option<String>> {
    let filter =
        ActionFilter { action: Some("try_webhook_now".to_owned()), limit: 9, ..ActionFilter::default() };
    world.operations().actions(&filter).await.unwrap().into_iter().map(|action| action.subject).collect()
}

#[tokio::test]
async fn try_endpoint_now_makes_its_waiting_deliveries_due() {
    let world = with_open_breakers().await;
    let try_now = async { world.operations().try_endpoint_now(&world.ann, "w", &olga()).await.unwrap() };
    assert_eq!(changes_only_own(&world, "t ->> 'endpoint_id' = 'w'", try_now).await, Some(TriedNow::Due(3)));
    assert_eq!(due(&world).await, ["ann/w/first", "ann/w/second", "ann/w/third"]);
    let again = world.operations().try_endpoint_now(&world.ann, "w", &olga()).await.unwrap();
    assert_eq!(again, Some(TriedNow::Nothing), "a repeat finds nothing");
    assert_eq!(subjects(&world).await, [Some("w".to_owned())], "an attempt without effect is not recorded");
    let policy = DeliveryPolicy::default();
    let probe = world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed;
    assert_eq!(probe.len(), 0, "one try is in progress already, as the probe");
    world
        .run(
            "update webhook_deliveries set status = 'delivered', sending_until = null, finished_at = now(), \
        body = null where delivery_id = 'sent'; update webhook_endpoints set consecutive_failures = 0 \
        where endpoint_id = 'w'",
        )
        .await;
    assert_eq!(world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed.len(), 3);
}

#[tokio::test]
async fn try_delivery_now_closes_the_breaker_and_keeps_the_tries() {
    let world = with_open_breakers().await;
    let one = async |delivery| {
        world.operations().try_delivery_now(&world.ann, "w", delivery, &olga()).await.unwrap()
    };
    assert_eq!(one("second").await, Some(TriedNow::Due(1)));
    assert_eq!(due(&world).await, ["ann/w/second"]);
    assert_eq!(one("second").await, Some(TriedNow::Nothing));
    assert_eq!(one("sent").await, Some(TriedNow::UnderWay));
    assert_eq!(one("lost").await, Some(TriedNow::Ended));
    assert_eq!(one("nothing").await, None);
    assert_eq!(subjects(&world).await, [Some("w/second".to_owned())]);
    let line = world.ledger.outbox().delivery(&world.ann, "w", "second").await.unwrap().unwrap();
    assert_eq!((line.status.as_str(), line.tries), ("pending", 4));
    assert_eq!(
        world
            .operations()
            .endpoint_views(None, Some("w"), 9)
            .await
            .unwrap()
            .iter()
            .filter(|view| view.open_until.is_none())
            .count(),
        1,
        "Bob's breaker stays open"
    );
}

#[tokio::test]
async fn try_delivery_now_applies_to_a_due_delivery() {
    let world = with_open_breakers().await;
    world.run("update webhook_deliveries set next_at = now() where delivery_id = 'first'").await;
    let answer = world.operations().try_delivery_now(&world.ann, "w", "first", &olga()).await.unwrap();
    assert_eq!(answer, Some(TriedNow::Due(1)));
}

#[tokio::test]
async fn try_now_is_refused_for_a_disabled_endpoint() {
    let world = with_open_breakers().await;
    world.run("update webhook_endpoints set enabled = false, disabled_reason = 'failing'").await;
    let all = world.operations().try_endpoint_now(&world.ann, "w", &olga()).await.unwrap();
    let one = world.operations().try_delivery_now(&world.ann, "w", "first", &olga()).await.unwrap();
    assert_eq!((all, one), (Some(TriedNow::Disabled), Some(TriedNow::Disabled)));
    assert_eq!(world.operations().try_endpoint_now(&world.bob, "nothing", &olga()).await.unwrap(), None);
    assert!(due(&world).await.is_empty() && subjects(&world).await.is_empty());
}
