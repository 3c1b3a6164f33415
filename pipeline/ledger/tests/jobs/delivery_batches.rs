//! Deliveries of a disabled, enabled or deleted endpoint are parked, woken and cancelled in batches, whatever waits
//! for others.

use std::time::Duration;

use ledger::Ledger;
use operations::Operations;
use outbox::{DeliveryOutcome, DeliveryPolicy, EndpointChange};
use records::UserId;

use crate::{
    backlog_rows_read::{USERS, seeded, tables_read_beyond},
    world::World,
};

/// An enabled endpoint of each of 100 users, and one of Bob's, `w`.
const ENDPOINTS: &str = "insert into users (user_id) values ('bob'); \
    insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret) \
    select user_id, 'w', 'https://example.com', '{conversation.completed}', 'full', 's' from users";

/// 20,000 finished deliveries of Bob's.
const ENDED: &str = "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
    select 'bob', 'w', 'e' || n, 'conversation.completed', 'delivered', now(), now() from generate_series(1, 20000) n";

/// 20,000 due deliveries of the 100 users, and 20 of Bob's.
const DUE: &str = "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
    select case when n < 20000 then 'u' || n % 100 else 'bob' end, 'w', 'd' || n, 'conversation.completed', 'pending', \
        now() - interval '1 minute', now() - interval '1 minute' from generate_series(0, 20019) n";

/// 2,500 due deliveries of Bob's.
const BOBS: &str = "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
    select 'bob', 'w', 'd' || n, 'conversation.completed', 'pending', now() - interval '1 minute', now() \
    from generate_series(0, 2499) n";

async fn set_enabled(ledger: &Ledger, enabled: bool) {
    let change = EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
    assert!(ledger.outbox().change_endpoint(&UserId::new("bob"), "w", &change).await.unwrap().is_ok());
}

async fn parked(world: &World) -> i64 {
    world
        .count("select count(*) from webhook_deliveries where status = 'pending' and next_at = 'infinity'")
        .await
}

#[tokio::test]
async fn enabling_an_endpoint_reads_no_finished_or_other_deliveries() {
    let world = seeded(&[USERS, ENDPOINTS, ENDED, DUE]).await;
    let more = tables_read_beyond(&world, 4_000, async |ledger| {
        for _ in 0..4 {
            set_enabled(ledger, false).await;
            set_enabled(ledger, true).await;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
    assert_eq!(parked(&world).await, 0);
}

#[tokio::test]
async fn deliveries_of_a_disabled_endpoint_are_parked_and_woken_in_batches() {
    let world = seeded(&[USERS, ENDPOINTS, BOBS]).await;
    let policy = DeliveryPolicy::default();
    set_enabled(&world.ledger, false).await;
    assert_eq!(parked(&world).await, 1_000, "the first thousand at once");
    for by_then in [2_000, 2_500] {
        assert!(world.ledger.outbox().claim_deliveries(8, &policy, None).await.unwrap().claimed.is_empty());
        assert_eq!(parked(&world).await, by_then, "the rest by the claims that find it due");
    }
    assert_eq!(world.ledger.outbox().next_delivery_in().await.unwrap(), None, "no dispatcher polls for them");
    set_enabled(&world.ledger, true).await;
    assert_eq!(parked(&world).await, 1_500);
    let claimed = world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed;
    assert_eq!((claimed.len(), parked(&world).await), (1, 500));
    set_enabled(&world.ledger, false).await;
    world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap();
    assert_eq!(parked(&world).await, 2_499, "a disabled endpoint's deliveries are not woken");
    set_enabled(&world.ledger, true).await;
    while parked(&world).await > 0 {
        world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from webhook_endpoints where waking").await, 0);
}

#[tokio::test]
async fn waking_stops_when_the_endpoint_is_disabled_for_failing() {
    let world = seeded(&[USERS, ENDPOINTS, BOBS]).await;
    let policy = DeliveryPolicy::default();
    set_enabled(&world.ledger, false).await;
    world.run("update webhook_deliveries set next_at = 'infinity'").await;
    set_enabled(&world.ledger, true).await;
    let claimed = world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed;
    assert_eq!((claimed.len(), parked(&world).await), (1, 500));
    world
        .run(
            "update webhook_endpoints set failing_since = now() - interval '1 year', consecutive_failures = 9 \
             where user_id = 'bob'",
        )
        .await;
    let hour = Some(Duration::from_secs(3_600));
    let failed =
        DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: hour, jitter_permille: 0 };
    assert!(world.ledger.outbox().finish_delivery(&claimed[0], failed, &policy).await.unwrap());
    assert_eq!(parked(&world).await, 1_500);
    assert!(world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed.is_empty());
    assert_eq!(parked(&world).await, 2_499, "all but the one that has a time of its own");
}

/// Without statistics the planner assumes a row or two: its plan must not search for the next batch once for every
/// row that waits.
#[tokio::test]
async fn batches_are_bounded_before_the_table_is_analyzed() {
    const ALL_PARKED: &str = "update webhook_deliveries set next_at = 'infinity'";
    const ALL_DUE: &str = "update webhook_deliveries set next_at = now() - interval '1 minute'";
    let world = World::new().await;
    for rows in [USERS, ENDPOINTS, BOBS] {
        world.run(rows).await;
    }
    set_enabled(&world.ledger, false).await;
    assert_eq!(parked(&world).await, 1_000);
    world.run(ALL_PARKED).await;
    set_enabled(&world.ledger, true).await;
    assert_eq!(parked(&world).await, 1_500);
    world.run(ALL_DUE).await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed;
    assert!(
        world.ledger.outbox().finish_delivery(&claimed[0], DeliveryOutcome::Gone, &policy).await.unwrap()
    );
    assert_eq!(
        world.count("select count(*) from webhook_deliveries where status = 'cancelled'").await,
        1_000
    );
}

#[tokio::test]
async fn deliveries_of_a_gone_endpoint_are_cancelled_in_batches() {
    let world = seeded(&[USERS, ENDPOINTS, BOBS]).await;
    let policy = DeliveryPolicy::default();
    let claimed = world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed;
    assert!(
        world.ledger.outbox().finish_delivery(&claimed[0], DeliveryOutcome::Gone, &policy).await.unwrap()
    );
    let cancelled = "select count(*) from webhook_deliveries where status = 'cancelled' and body is null";
    assert_eq!(world.count(cancelled).await, 1_000);
    // Recovered since by an operator, who means to enable the endpoint again.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
             values ('bob', 'w', 'again', 'conversation.completed', 'pending', 'infinity', now() - interval '1 day')",
        )
        .await;
    for _ in 0..2 {
        assert!(world.ledger.outbox().claim_deliveries(8, &policy, None).await.unwrap().claimed.is_empty());
    }
    assert_eq!(world.count(cancelled).await, 2_499, "all but the one that was sent");
    assert_eq!(parked(&world).await, 1);
}

#[tokio::test]
async fn gauges_read_no_parked_deliveries() {
    const PARKED: &str = "update webhook_deliveries set next_at = 'infinity' where user_id <> 'bob'";
    let world = seeded(&[USERS, ENDPOINTS, DUE, PARKED, "vacuum webhook_deliveries"]).await;
    let more = tables_read_beyond(&world, 1_000, async |ledger| {
        for _ in 0..8 {
            assert!(Operations::new(ledger).gauges().await.unwrap().oldest_pending_delivery_age > 59.0);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// The sender of all of Bob's deliveries died.
const SENDERS_DIED: &str = "update webhook_deliveries set status = 'sending', tries = 1, next_at = null, \
    sending_until = now() - interval '1 minute'";

#[tokio::test]
async fn deliveries_of_dead_senders_to_a_disabled_endpoint_are_parked_in_batches() {
    let world = seeded(&[USERS, ENDPOINTS, BOBS]).await;
    set_enabled(&world.ledger, false).await;
    world.run(SENDERS_DIED).await;
    for by_then in [1_000, 2_000, 2_500] {
        let claims =
            world.ledger.outbox().claim_deliveries(8, &DeliveryPolicy::default(), None).await.unwrap();
        assert!(claims.claimed.is_empty());
        assert_eq!(parked(&world).await, by_then);
    }
}

#[tokio::test]
async fn deliveries_whose_senders_died_in_the_last_try_are_given_up_in_batches() {
    const LAST_TRY: &str = "update webhook_deliveries set tries = 99";
    let world = seeded(&[USERS, ENDPOINTS, BOBS, SENDERS_DIED, LAST_TRY]).await;
    for given_up in [1_000, 1_000, 500, 0] {
        let claims =
            world.ledger.outbox().claim_deliveries(0, &DeliveryPolicy::default(), None).await.unwrap();
        assert_eq!(claims.given_up, given_up);
    }
}
