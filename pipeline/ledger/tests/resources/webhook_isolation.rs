//! Isolation of webhooks: two users have endpoints and deliveries with the same ids, and an operation changes neither
//! the other user's rows nor the user's other ones.

use chrono::TimeDelta;
use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, EndpointChange, Redelivery};
use records::UserId;
use sqlx::AssertSqlSafe;

use crate::world::{World, changes_only};

const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

/// Runs `operation`, and asserts that other users' rows stay as they were, and of Ann's endpoints, subscriptions and their
/// deliveries all except those of `own`.
pub(crate) async fn changes_only_own<T>(world: &World, own: &str, operation: impl Future<Output = T>) -> T {
    let condition = |table: &str| match table.starts_with("webhook") || table.starts_with("push") {
        true => own,
        false => "true",
    };
    changes_only(world, condition, operation).await
}

/// Ann's endpoint `w` with its delivery `w_0`, which is due first.
const W: &str = "t ->> 'endpoint_id' = 'w' and coalesce(t ->> 'delivery_id', 'w_0') = 'w_0'";
/// The endpoint `w` and all of its deliveries.
const ALL_OF_W: &str = "t ->> 'endpoint_id' = 'w'";

/// Ann's `w` and `v` and Bob's `w`, each with the deliveries `w_0` and `w_1`.
async fn with_deliveries() -> World {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
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

/// Claims Ann's `w_0`, which is due first.
async fn claim(world: &World) -> ClaimedDelivery {
    let claimed = world.claim_deliveries(1).await;
    assert_eq!((claimed[0].user_id.as_str(), claimed[0].delivery_id.as_str()), ("ann", "w_0"));
    claimed.into_iter().next().unwrap()
}

/// Claims all six.
async fn claim_all(world: &World) -> Vec<ClaimedDelivery> {
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 6);
    claimed
}

async fn finish(world: &World, claimed: &ClaimedDelivery, outcome: DeliveryOutcome) -> bool {
    world.ledger.outbox().finish_delivery(claimed, outcome, &DeliveryPolicy::default()).await.unwrap()
}

#[tokio::test]
async fn claim_and_keep_body_change_one_delivery() {
    let world = with_deliveries().await;
    let claimed = changes_only_own(&world, W, claim(&world)).await;
    assert!(
        changes_only_own(&world, W, async {
            world.ledger.outbox().keep_body(&claimed, b"{}").await.unwrap()
        })
        .await
    );
    let all = with_deliveries().await;
    let claims = claim_all(&all).await;
    let first = claims.iter().find(|one| one.user_id == all.ann && one.endpoint_id == "w").unwrap();
    let mine = format!(
        "t ->> 'endpoint_id' = 'w' and coalesce(t ->> 'delivery_id', '{0}') = '{0}'",
        first.delivery_id
    );
    assert!(
        changes_only_own(&all, &mine, async { all.ledger.outbox().keep_body(first, b"{}").await.unwrap() })
            .await
    );
    assert!(changes_only_own(&all, &mine, finish(&all, first, AGAIN)).await);
}

#[tokio::test]
async fn finish_delivery_changes_one_delivery_and_its_endpoint() {
    for outcome in [
        DeliveryOutcome::Delivered { status: 200 },
        AGAIN,
        DeliveryOutcome::Final { status: Some(400), error: "status" },
        DeliveryOutcome::Cancelled,
    ] {
        let world = with_deliveries().await;
        let claimed = claim(&world).await;
        // All endpoints have been failing.
        world.run("update webhook_endpoints set failing_since = now(), consecutive_failures = 1").await;
        assert!(changes_only_own(&world, W, finish(&world, &claimed, outcome)).await);
    }
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    assert!(changes_only_own(&world, ALL_OF_W, finish(&world, &claimed, DeliveryOutcome::Gone)).await);
    let cancelled = "select count(*) from webhook_deliveries where status = 'cancelled'";
    assert_eq!(world.count(cancelled).await, 1);
}

#[tokio::test]
async fn gone_does_not_cancel_deliveries_in_progress() {
    let world = with_deliveries().await;
    let claims = claim_all(&world).await;
    let mine: Vec<_> =
        claims.iter().filter(|one| one.user_id == world.ann && one.endpoint_id == "w").collect();
    assert!(finish(&world, mine[0], DeliveryOutcome::Gone).await);
    assert!(finish(&world, mine[1], DeliveryOutcome::Delivered { status: 200 }).await, "its own try goes on");
}

#[tokio::test]
async fn finish_delivery_is_refused_with_another_outcome() {
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
async fn finish_delivery_of_a_deleted_one_finds_no_other_with_its_id() {
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
async fn dead_sender_gives_up_one_delivery() {
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
    assert!(changes_only_own(&world, W, nothing).await.is_empty());
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'exhausted'").await, 1);
}

#[tokio::test]
async fn last_try_in_progress_is_left_to_its_sender() {
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
async fn open_breaker_postpones_its_own_due_deliveries_only() {
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
    assert_eq!(world.count(later).await, 3, "deliveries that were not due stay as they were");
    let moved = "select count(*) from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
        and delivery_id = 'w_0' and next_at between now() and now() + interval '1 minute'";
    assert_eq!(world.count(moved).await, 1);
}

#[tokio::test]
async fn toggling_and_deleting_an_endpoint_change_no_other() {
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
    changes_only_own(&world, ALL_OF_W, set(false)).await;
    changes_only_own(&world, ALL_OF_W, set(true)).await;
    assert!(
        changes_only_own(&world, ALL_OF_W, async {
            world.ledger.outbox().delete_endpoint(&world.ann, "w").await.unwrap()
        })
        .await
    );
}

#[tokio::test]
async fn enabling_an_endpoint_keeps_the_time_of_a_retry() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    finish(&world, &claimed, AGAIN).await;
    let change = EndpointChange { enabled: Some(true), ..EndpointChange::default() };
    changes_only_own(&world, ALL_OF_W, async {
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap()
    })
    .await;
    let waits = "select count(*) from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
        and delivery_id = 'w_0' and next_at > now()";
    assert_eq!(world.count(waits).await, 1);
}

#[tokio::test]
async fn redeliver_and_recover_change_no_other_delivery() {
    let world = with_deliveries().await;
    for claimed in claim_all(&world).await {
        finish(&world, &claimed, DeliveryOutcome::Final { status: Some(404), error: "status" }).await;
    }
    world.conversation(&world.ann, "there", "completed", 0).await;
    world.conversation(&world.bob, "gone", "completed", 0).await;
    let again = async { world.ledger.outbox().redeliver(&world.ann, "w", "w_0").await.unwrap() };
    assert!(matches!(changes_only_own(&world, W, again).await, Redelivery::Due(_)));
    world
        .run(
            "update webhook_deliveries set conversation_id = 'there'; \
             update webhook_deliveries set conversation_id = 'gone' where delivery_id = 'w_1'",
        )
        .await;
    let since = world.ledger.db().now().await.unwrap() - TimeDelta::days(2);
    let recovered = async { world.recover(&world.ann, "v", since).await };
    let all_of_v = "t ->> 'endpoint_id' = 'v'";
    assert_eq!(
        changes_only_own(&world, all_of_v, recovered).await,
        Some(1),
        "`gone` is another user's conversation"
    );
}

#[tokio::test]
async fn finish_delivery_locks_its_endpoint_before_its_delivery() {
    let world = with_deliveries().await;
    let claimed = claim(&world).await;
    let mut holder = world.database.hold_locks("select from webhook_deliveries for update").await;
    let ledger = world.ledger.clone();
    let operation = tokio::spawn(async move {
        ledger.outbox().finish_delivery(&claimed, AGAIN, &DeliveryPolicy::default()).await.unwrap()
    });
    world.database.until_somebody_waits().await;
    let free: Vec<String> = world.list("select user_id || ' ' || endpoint_id from webhook_endpoints order by 1 for no key update skip locked").await;
    assert_eq!(free, ["ann v", "bob w"]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(operation.await.unwrap());
}

/// Two endpoints with a delivery each, both of which fail; one endpoint is disabled during the try: only its own
/// delivery is parked.
async fn assert_only_its_own_is_parked(world: &World, endpoints: [(&UserId, &str); 2], disabled: &str) {
    for (user, endpoint) in endpoints {
        world.endpoint(user, endpoint).await;
        world.pending(user, endpoint, 1).await;
    }
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 2);
    world
        .database
        .run(&format!(
            "update webhook_endpoints set enabled = false, disabled_reason = 'by_owner' where {disabled}"
        ))
        .await;
    let again =
        DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };
    for one in &claimed {
        assert!(world.ledger.outbox().finish_delivery(one, again, &DeliveryPolicy::default()).await.unwrap());
    }
    let those = format!("select {disabled} from webhook_deliveries where next_at = 'infinity'");
    let waiting: Vec<bool> = sqlx::query_scalar(AssertSqlSafe(those)).fetch_all(&world.pool).await.unwrap();
    assert_eq!(waiting, [true], "{disabled}");
}

#[tokio::test]
async fn retry_is_parked_only_if_its_own_endpoint_is_disabled() {
    for disabled in ["endpoint_id = 'v'", "endpoint_id = 'w'"] {
        let world = World::new().await;
        assert_only_its_own_is_parked(&world, [(&world.ann, "v"), (&world.ann, "w")], disabled).await;
    }
}

#[tokio::test]
async fn retry_is_not_parked_by_another_users_endpoint_with_its_id() {
    for disabled in ["user_id = 'ann'", "user_id = 'bob'"] {
        let world = World::new().await;
        assert_only_its_own_is_parked(&world, [(&world.ann, "w"), (&world.bob, "w")], disabled).await;
    }
}
