//! Fairness between endpoints: the cap on concurrent deliveries across processes, the breaker, and backlogs that
//! delay no others.

use std::{collections::HashMap, sync::Arc, time::Duration};

use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy};
use tokio::sync::Barrier;

use crate::world::World;

const RETRY: DeliveryOutcome =
    DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };

fn per_endpoint(claimed: &[ClaimedDelivery]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for one in claimed {
        *counts.entry(one.endpoint_id.as_str()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn backlog_of_one_endpoint_does_not_delay_others() {
    let world = World::new().await;
    for id in ["busy", "calm"] {
        world.endpoint(&world.ann, id).await;
    }
    world.pending(&world.ann, "busy", 2_000).await;
    world.run("update webhook_deliveries set next_at = next_at - interval '1 hour'").await;
    world.pending(&world.ann, "calm", 3).await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(10, &policy, None).await.unwrap().claimed;
    assert_eq!(per_endpoint(&claimed), HashMap::from([("busy", 4), ("calm", 3)]));
    assert!(
        world.ledger.outbox().claim_deliveries(10, &policy, None).await.unwrap().claimed.is_empty(),
        "both are at their cap"
    );
    let wait = world.ledger.outbox().next_delivery_in().await.unwrap().unwrap();
    assert!(
        wait >= Duration::from_millis(100),
        "rows that wait for their endpoint are not looked for without a pause"
    );
    assert!(
        world
            .ledger
            .outbox()
            .finish_delivery(&claimed[0], DeliveryOutcome::Delivered { status: 200 }, &policy)
            .await
            .unwrap()
    );
    let next = world.ledger.outbox().claim_deliveries(10, &policy, None).await.unwrap().claimed;
    assert_eq!(per_endpoint(&next), HashMap::from([("busy", 1)]), "one delivery finished");
}

#[tokio::test]
async fn backlogs_of_eight_endpoints_at_their_cap_do_not_delay_others() {
    let policy = DeliveryPolicy::default();
    for (failures, most) in [(0, 4), (policy.breaker_after, 1)] {
        let world = World::new().await;
        let full = ["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"];
        for id in full {
            world.endpoint(&world.ann, id).await;
            world.run("update webhook_deliveries set next_at = next_at - interval '1 hour'").await;
            world.pending(&world.ann, id, 70).await;
        }
        sqlx::query("update webhook_endpoints set consecutive_failures = $1")
            .bind(failures)
            .execute(&world.pool)
            .await
            .unwrap();
        world.run("update webhook_deliveries set next_at = next_at - interval '1 hour'").await;
        world.endpoint(&world.bob, "calm").await;
        world.pending(&world.bob, "calm", 1).await;
        let mut claimed = Vec::new();
        for _ in 0..3 {
            claimed.extend(world.ledger.outbox().claim_deliveries(16, &policy, None).await.unwrap().claimed);
        }
        let all_that_they_may = full.map(|id| (id, most)).into_iter().chain([("calm", 1)]).collect();
        assert_eq!(per_endpoint(&claimed), all_that_they_may);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_claims_of_eight_processes_keep_to_the_endpoint_cap() {
    let world = World::new().await;
    for id in ["e0", "e1", "e2"] {
        world.endpoint(&world.ann, id).await;
        world.pending(&world.ann, id, 50).await;
    }
    let barrier = Arc::new(Barrier::new(8));
    let claims: Vec<_> = (0..8)
        .map(|_| {
            let (ledger, barrier) = (world.other_process(), barrier.clone());
            tokio::spawn(async move {
                ledger.db().now().await.unwrap();
                let mut claimed = Vec::new();
                for _ in 0..4 {
                    barrier.wait().await;
                    claimed.extend(
                        ledger
                            .outbox()
                            .claim_deliveries(7, &DeliveryPolicy::default(), None)
                            .await
                            .unwrap()
                            .claimed,
                    );
                }
                claimed
            })
        })
        .collect();
    let mut all = Vec::new();
    for claim in claims {
        all.extend(claim.await.unwrap());
    }
    let counts = per_endpoint(&all);
    assert!(counts.values().all(|count| *count <= 4), "{counts:?}");
    // A claim skips a locked endpoint; one more claim takes what is left below the cap.
    all.extend(world.claim_deliveries(50).await);
    assert_eq!(per_endpoint(&all), HashMap::from([("e0", 4), ("e1", 4), ("e2", 4)]));
    let mut ids: Vec<_> = all.iter().map(|one| one.delivery_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12, "no delivery was claimed twice");
}

#[tokio::test]
async fn open_breaker_postpones_deliveries_and_then_allows_one_probe() {
    let world = World::new().await;
    world.endpoint(&world.ann, "dead").await;
    world.pending(&world.ann, "dead", 20).await;
    let policy = DeliveryPolicy::default();
    let mut failed = 0;
    while failed < 5 {
        for claimed in world.ledger.outbox().claim_deliveries(4, &policy, None).await.unwrap().claimed {
            assert!(world.ledger.outbox().finish_delivery(&claimed, RETRY, &policy).await.unwrap());
            failed += 1;
        }
    }
    let failing = world.ledger.outbox().endpoint(&world.ann, "dead").await.unwrap().unwrap();
    assert!(failing.enabled && failing.failing_since.is_some());
    assert!(world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed.is_empty());
    let overdue = "select count(*) from webhook_deliveries where status = 'pending' and next_at <= now()";
    assert_eq!(world.count(overdue).await, 0, "its rows wait for the breaker");

    world
        .run(
            "update webhook_endpoints set open_until = open_until - interval '2 minutes'; \
             update webhook_deliveries set next_at = next_at - interval '2 minutes' where status = 'pending'",
        )
        .await;
    let probe = world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed;
    assert_eq!(probe.len(), 1, "half open");
    let delivered = DeliveryOutcome::Delivered { status: 200 };
    assert!(world.ledger.outbox().finish_delivery(&probe[0], delivered, &policy).await.unwrap());
    assert_eq!(
        world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed.len(),
        4,
        "closed again"
    );
}

#[tokio::test]
async fn endpoint_is_disabled_after_five_days_of_failures() {
    let world = World::new().await;
    world.endpoint(&world.ann, "dead").await;
    world.pending(&world.ann, "dead", 3).await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(2, &policy, None).await.unwrap().claimed;
    world
        .run(
            "update webhook_endpoints set failing_since = now() - interval '119 hours', \
             consecutive_failures = 9",
        )
        .await;
    assert!(world.ledger.outbox().finish_delivery(&claimed[0], RETRY, &policy).await.unwrap());
    assert!(world.ledger.outbox().endpoint(&world.ann, "dead").await.unwrap().unwrap().enabled, "not yet");
    world.run("update webhook_endpoints set failing_since = now() - interval '121 hours'").await;
    assert!(world.ledger.outbox().finish_delivery(&claimed[1], RETRY, &policy).await.unwrap());
    let disabled = world.ledger.outbox().endpoint(&world.ann, "dead").await.unwrap().unwrap();
    assert_eq!((disabled.enabled, disabled.disabled_reason.as_deref()), (false, Some("failing")));
    assert_eq!(
        world.ledger.outbox().next_delivery_in().await.unwrap(),
        None,
        "pending deliveries are parked"
    );
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'pending'").await, 3);
}

/// One event was refused a month ago, and nothing happened since: the receiver fails once today, and is not disabled for it.
#[tokio::test]
async fn two_failures_that_lie_a_month_apart_disable_no_endpoint() {
    let world = World::new().await;
    world.endpoint(&world.ann, "quiet").await;
    world.pending(&world.ann, "quiet", 2).await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(2, &policy, None).await.unwrap().claimed;
    let refused = DeliveryOutcome::Final { status: Some(400), error: "status" };
    assert!(world.ledger.outbox().finish_delivery(&claimed[0], refused, &policy).await.unwrap());
    world.run("update webhook_endpoints set failing_since = failing_since - interval '30 days'").await;
    assert!(world.ledger.outbox().finish_delivery(&claimed[1], RETRY, &policy).await.unwrap());
    let quiet = world.ledger.outbox().endpoint(&world.ann, "quiet").await.unwrap().unwrap();
    assert!(quiet.enabled, "the second failure of a month");
    let parked = "select count(*) from webhook_deliveries where next_at = 'infinity'";
    assert_eq!(world.count(parked).await, 0);
}
