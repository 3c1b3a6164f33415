//! Two people whose things have the very same ids: whatever one of them does, the other's stay as they are, and so do
//! one's own other things.

use chrono::TimeDelta;
use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, EndpointChange, Redelivery};

use crate::{bystanders, world::World};

const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

/// Runs `verb`, and compares everything but Ann's own with what it was; of her endpoints, subscriptions and their
/// events, everything but what `mine` describes.
pub(crate) async fn spared<T>(world: &World, mine: &str, verb: impl Future<Output = T>) -> T {
    let own = |table: &str| match table.starts_with("webhook") || table.starts_with("push") {
        true => mine,
        false => "true",
    };
    bystanders::spared(world, own, verb).await
}

/// Ann's endpoint `w` with its delivery `w_0`, which is due first.
const W: &str = "t ->> 'endpoint_id' = 'w' and coalesce(t ->> 'delivery_id', 'w_0') = 'w_0'";
/// All of that endpoint.
const ALL_OF_W: &str = "t ->> 'endpoint_id' = 'w'";

/// Ann's `w` and `v` and Bob's `w`, each with the deliveries `w_0` and `w_1`.
async fn with_deliveries() -> World {
    let world = World::new().await;
    world.namesakes().await;
    for (user, endpoint) in [(&world.ann, "w"), (&world.ann, "v"), (&world.bob, "w")] {
        world.pending(user, endpoint, 2).await;
    }
    world
        .run(
            "update webhook_deliveries set delivery_id = replace(delivery_id, 'v', 'w'); \
             update webhook_deliveries set next_at = next_at - interval '1 hour' \
                 where user_id = 'ann' and endpoint_id = 'w' and delivery_id = 'w_0'",
        )
        .await;
    world
}

/// The claim of Ann's first.
async fn claim(world: &World) -> ClaimedDelivery {
    let claimed = world.claim_deliveries(1).await;
    assert_eq!((claimed[0].user_id.as_str(), claimed[0].delivery_id.as_str()), ("ann", "w_0"));
    claimed.into_iter().next().unwrap()
}

/// The claims of all six.
async fn claim_all(world: &World) -> Vec<ClaimedDelivery> {
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 6);
    claimed
}

async fn finish(world: &World, claimed: &ClaimedDelivery, outcome: DeliveryOutcome) -> bool {
    world.ledger.outbox().finish_delivery(claimed, outcome, &DeliveryPolicy::default()).await.unwrap()
}

#[tokio::test]
async fn a_claim_and_its_body_concern_one_delivery() {
    let world = with_deliveries().await;
    let claimed = spared(&world, W, claim(&world)).await;
    assert!(
        spared(&world, W, async { world.ledger.outbox().keep_body(&claimed, b"{}").await.unwrap() }).await
    );
    let all = with_deliveries().await;
    let claims = claim_all(&all).await;
    let first = claims.iter().find(|one| one.user_id == all.ann && one.endpoint_id == "w").unwrap();
    let mine = format!(
        "t ->> 'endpoint_id' = 'w' and coalesce(t ->> 'delivery_id', '{0}') = '{0}'",
        first.delivery_id
    );
    assert!(spared(&all, &mine, async { all.ledger.outbox().keep_body(first, b"{}").await.unwrap() }).await);
    assert!(spared(&all, &mine, finish(&all, first, AGAIN)).await);
}

#[tokio::test]
async fn the_end_of_a_try_concerns_one_delivery_and_its_endpoint() {
    for outcome in [
        DeliveryOutcome::Delivered { status: 200 },
        AGAIN,
        DeliveryOutcome::Final { status: Some(400), error: "status" },
        DeliveryOutcome::Cancelled,
    ] {
        let world = with_deliveries().await;
        let claimed = claim(&world).await;
        // The others have failed for a while.
        world.run("update webhook_endpoints set failing_since = now(), consecutive_failures = 1").await;
        assert!(spared(&world, W, finish(&world, &claimed, outcome)).await);
    }
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    assert!(spared(&world, ALL_OF_W, finish(&world, &claimed, DeliveryOutcome::Gone)).await);
    let cancelled = "select count(*) from webhook_deliveries where status = 'cancelled'";
    assert_eq!(world.count(cancelled).await, 1);
}

#[tokio::test]
async fn what_is_under_way_is_not_cancelled_with_what_waits() {
    let world = with_deliveries().await;
    let claims = claim_all(&world).await;
    let mine: Vec<_> =
        claims.iter().filter(|one| one.user_id == world.ann && one.endpoint_id == "w").collect();
    assert!(finish(&world, mine[0], DeliveryOutcome::Gone).await);
    assert!(finish(&world, mine[1], DeliveryOutcome::Delivered { status: 200 }).await, "its own try goes on");
}

#[tokio::test]
async fn a_try_ends_once() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    assert!(finish(&world, &claimed, AGAIN).await);
    assert!(!finish(&world, &claimed, DeliveryOutcome::Delivered { status: 200 }).await);
    assert!(!world.ledger.outbox().keep_body(&claimed, b"late").await.unwrap());
    let pending = "select count(*) from webhook_deliveries where delivery_id = 'w_0' and user_id = 'ann' \
        and endpoint_id = 'w' and status = 'pending' and tries = 1 and body is null";
    assert_eq!(world.count(pending).await, 1);
    assert!(
        world.ledger.outbox().endpoint(&world.ann, "w").await.unwrap().unwrap().last_success_at.is_none()
    );
}

#[tokio::test]
async fn what_was_told_of_ones_namesakes_was_not_told_of_one() {
    let world = with_deliveries().await;
    let delivered = DeliveryOutcome::Delivered { status: 200 };
    let (mine, others): (Vec<_>, Vec<_>) = claim_all(&world)
        .await
        .into_iter()
        .partition(|one| (one.user_id.as_str(), &*one.endpoint_id, &*one.delivery_id) == ("ann", "w", "w_0"));
    for other in &others {
        assert!(finish(&world, other, delivered).await);
    }
    world
        .run("delete from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' and delivery_id = 'w_0'")
        .await;
    assert!(!finish(&world, &mine[0], delivered).await);
}

#[tokio::test]
async fn a_sender_that_died_is_given_up_alone() {
    let world = with_deliveries().await;
    claim_all(&world).await;
    world
        .run(
            "update webhook_deliveries set tries = 11, sending_until = now() - interval '1 second' \
                 where user_id = 'ann' and endpoint_id = 'w' and delivery_id = 'w_0'",
        )
        .await;
    let policy = DeliveryPolicy::default();
    let nothing = async { world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed };
    assert!(spared(&world, W, nothing).await.is_empty());
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'exhausted'").await, 1);
}

#[tokio::test]
async fn a_last_try_that_is_still_under_way_is_left_to_its_sender() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    world.run("update webhook_deliveries set tries = 11").await;
    world
        .run("update webhook_deliveries set next_at = now() + interval '1 hour' where status = 'pending'")
        .await;
    assert!(world.claim_deliveries(9).await.is_empty());
    assert!(finish(&world, &claimed, DeliveryOutcome::Delivered { status: 200 }).await);
}

#[tokio::test]
async fn a_closed_endpoint_moves_its_own_deliveries_alone() {
    let world = with_deliveries().await;
    world
        .run(
            "update webhook_endpoints set open_until = now() + interval '1 minute', consecutive_failures = 5 \
                 where user_id = 'ann' and endpoint_id = 'w'; \
             update webhook_deliveries set next_at = now() + interval '1 hour' where delivery_id = 'w_1'",
        )
        .await;
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 2, "Ann's `v` and Bob's `w`");
    let later = "select count(*) from webhook_deliveries where next_at > now() + interval '59 minutes'";
    assert_eq!(world.count(later).await, 3, "what was not due stays where it was");
    let moved = "select count(*) from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
        and delivery_id = 'w_0' and next_at between now() and now() + interval '1 minute'";
    assert_eq!(world.count(moved).await, 1);
}

#[tokio::test]
async fn switching_an_endpoint_off_and_on_concerns_that_endpoint() {
    let world = with_deliveries().await;
    world.run("update webhook_endpoints set failing_since = now(), consecutive_failures = 1").await;
    world
        .run(
            "update webhook_deliveries set next_at = 'infinity' where endpoint_id = 'v' or user_id = 'bob'; \
             update webhook_deliveries set next_at = now() + interval '1 hour' where delivery_id = 'w_1'",
        )
        .await;
    let set = async |enabled| {
        let change = EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
    };
    spared(&world, ALL_OF_W, set(false)).await;
    spared(&world, ALL_OF_W, set(true)).await;
    assert!(
        spared(&world, ALL_OF_W, async {
            world.ledger.outbox().delete_endpoint(&world.ann, "w").await.unwrap()
        })
        .await
    );
}

#[tokio::test]
async fn enabling_an_endpoint_hastens_nothing_that_has_its_own_time() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    finish(&world, &claimed, AGAIN).await;
    let change = EndpointChange { enabled: Some(true), ..EndpointChange::default() };
    spared(&world, ALL_OF_W, async {
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap()
    })
    .await;
    let waits = "select count(*) from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
        and delivery_id = 'w_0' and next_at > now()";
    assert_eq!(world.count(waits).await, 1);
}

#[tokio::test]
async fn doing_a_delivery_once_more_concerns_that_delivery() {
    let world = with_deliveries().await;
    for claimed in claim_all(&world).await {
        finish(&world, &claimed, DeliveryOutcome::Final { status: Some(404), error: "status" }).await;
    }
    world.conversation(&world.ann, "there", "completed", 0).await;
    world.conversation(&world.bob, "gone", "completed", 0).await;
    let again = async { world.ledger.outbox().redeliver(&world.ann, "w", "w_0").await.unwrap() };
    assert!(matches!(spared(&world, W, again).await, Redelivery::Due(_)));
    world
        .run(
            "update webhook_deliveries set conversation_id = 'there'; \
             update webhook_deliveries set conversation_id = 'gone' where delivery_id = 'w_1'",
        )
        .await;
    let since = world.ledger.db().now().await.unwrap() - TimeDelta::days(2);
    let recovered = async { world.ledger.outbox().recover(&world.ann, "v", since).await.unwrap() };
    let all_of_v = "t ->> 'endpoint_id' = 'v'";
    assert_eq!(spared(&world, all_of_v, recovered).await, Some(1), "`gone` is somebody else's conversation");
}

#[tokio::test]
async fn the_end_of_a_try_holds_its_endpoint_before_its_delivery() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    let mut holder = world.database.hold_locks("select from webhook_deliveries for update").await;
    let ledger = world.ledger.clone();
    let verb = tokio::spawn(async move {
        ledger.outbox().finish_delivery(&claimed, AGAIN, &DeliveryPolicy::default()).await.unwrap()
    });
    world.database.until_somebody_waits().await;
    let free: Vec<String> = world.list("select user_id || ' ' || endpoint_id from webhook_endpoints order by 1 for no key update skip locked").await;
    assert_eq!(free, ["ann v", "bob w"]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(verb.await.unwrap());
}
