//! Endpoints side by side: the cap across processes, the breaker, and who slows whom.

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
async fn a_backlog_of_one_endpoint_hides_nobody_elses_deliveries() {
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
        "both have all they may"
    );
    let wait = world.ledger.outbox().next_delivery_in().await.unwrap().unwrap();
    assert!(wait >= Duration::from_millis(100), "rows that must wait for their endpoint are not spun over");
    assert!(
        world
            .ledger
            .outbox()
            .finish_delivery(&claimed[0], DeliveryOutcome::Delivered { status: 200 }, &policy)
            .await
            .unwrap()
    );
    let next = world.ledger.outbox().claim_deliveries(10, &policy, None).await.unwrap().claimed;
    assert_eq!(per_endpoint(&next), HashMap::from([("busy", 1)]), "a place became free");
}

#[tokio::test]
async fn the_backlogs_of_eight_full_endpoints_hide_nobody_elses_deliveries() {
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
async fn eight_processes_at_once_never_exceed_the_cap_of_an_endpoint() {
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
    // Who found an endpoint locked passed it by; one more look takes what is left of its room.
    all.extend(world.claim_deliveries(50).await);
    assert_eq!(per_endpoint(&all), HashMap::from([("e0", 4), ("e1", 4), ("e2", 4)]));
    let mut ids: Vec<_> = all.iter().map(|one| one.delivery_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12, "no delivery was claimed twice");
}

#[tokio::test]
async fn an_open_breaker_moves_the_endpoints_rows_and_then_lets_one_try_through() {
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
async fn five_days_of_nothing_but_failures_disable_an_endpoint() {
    let world = World::new().await;
    world.endpoint(&world.ann, "dead").await;
    world.pending(&world.ann, "dead", 3).await;
    world.run("update webhook_endpoints set failing_since = now() - interval '119 hours'").await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(2, &policy, None).await.unwrap().claimed;
    assert!(world.ledger.outbox().finish_delivery(&claimed[0], RETRY, &policy).await.unwrap());
    assert!(world.ledger.outbox().endpoint(&world.ann, "dead").await.unwrap().unwrap().enabled, "not yet");
    world.run("update webhook_endpoints set failing_since = now() - interval '121 hours'").await;
    assert!(world.ledger.outbox().finish_delivery(&claimed[1], RETRY, &policy).await.unwrap());
    let disabled = world.ledger.outbox().endpoint(&world.ann, "dead").await.unwrap().unwrap();
    assert_eq!((disabled.enabled, disabled.disabled_reason.as_deref()), (false, Some("failing")));
    assert_eq!(
        world.ledger.outbox().next_delivery_in().await.unwrap(),
        None,
        "what is left waits for its owner"
    );
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'pending'").await, 3);
}
