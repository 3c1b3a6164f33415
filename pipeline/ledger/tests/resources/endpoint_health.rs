//! Endpoint health: since when an endpoint fails, how often, and why it is disabled.

use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, EndpointChange, TestRefusal};
use sqlx::{Connection, PgConnection};

use crate::world::World;

const RETRY: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

async fn claimed_delivery() -> (World, ClaimedDelivery) {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    let claimed = world.claim_deliveries(1).await;
    (world, claimed.into_iter().next().unwrap())
}

async fn finish(world: &World, claimed: &ClaimedDelivery, outcome: DeliveryOutcome) {
    assert!(
        world.ledger.outbox().finish_delivery(claimed, outcome, &DeliveryPolicy::default()).await.unwrap()
    );
}

async fn set(world: &World, enabled: bool) -> Option<String> {
    let change = EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
    world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap().disabled_reason
}

#[tokio::test]
async fn updated_at_changes_only_when_a_failure_disables_the_endpoint() {
    for (days, changed) in [(4, 0), (6, 1)] {
        let (world, claimed) = claimed_delivery().await;
        sqlx::query(
            "update webhook_endpoints set failing_since = now() - make_interval(days => $1), \
                 consecutive_failures = 9, updated_at = now() - interval '3 days'",
        )
        .bind(days)
        .execute(&world.pool)
        .await
        .unwrap();
        finish(&world, &claimed, RETRY).await;
        let moved = "select count(*) from webhook_endpoints where updated_at > now() - interval '1 day'";
        assert_eq!(world.count(moved).await, changed, "{days} days");
    }
}

/// Ann's endpoint, which one more failure would disable and whose breaker it would open, with one claimed and one
/// pending delivery.
async fn one_failure_before_disabling() -> (World, ClaimedDelivery) {
    let (world, claimed) = claimed_delivery().await;
    world
        .run(
            "update webhook_endpoints set failing_since = now() - interval '9 days', consecutive_failures = 9; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
                 values ('ann', 'w', 'waits', 'conversation.completed', 'pending', now() + interval '1 hour', now())",
        )
        .await;
    (world, claimed)
}

async fn endpoint_row(world: &World) -> String {
    world.value("select to_jsonb(e)::text from webhook_endpoints e").await
}

#[tokio::test]
async fn failure_of_an_old_url_does_not_count_and_is_retried_at_the_new() {
    let wish = Some(std::time::Duration::from_secs(7_200));
    let status = Some(503);
    let wished = DeliveryOutcome::Retry { status, error: "status", retry_after: wish, jitter_permille: 0 };
    let refused = DeliveryOutcome::Final { status: Some(404), error: "status" };
    for outcome in [DeliveryOutcome::Gone, wished, refused] {
        let (world, claimed) = one_failure_before_disabling().await;
        let url = Some("https://example.com/new".to_owned());
        let change = EndpointChange { url, ..EndpointChange::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
        let before = endpoint_row(&world).await;
        finish(&world, &claimed, outcome).await;
        assert_eq!(endpoint_row(&world).await, before, "{outcome:?}");
        let waiting = "select count(*) from webhook_deliveries where status = 'pending' \
            and next_at < now() + case delivery_id when 'w_0' then interval '10 seconds' else '1 hour' end";
        assert_eq!(world.count(waiting).await, 2, "{outcome:?}");
    }
}

#[tokio::test]
async fn failures_of_an_old_url_are_none_of_the_new() {
    const MARKS: &str = "select concat_ws(' ', failing_since is null, consecutive_failures, open_until is null, enabled) \
        from webhook_endpoints";
    let (world, claimed) = one_failure_before_disabling().await;
    world.run("update webhook_endpoints set open_until = now() + interval '1 minute'").await;
    for (url, marks) in [("https://example.com/w", "f 9 f t"), ("https://example.com/new", "t 0 t t")] {
        let change = EndpointChange { url: Some(url.to_owned()), ..EndpointChange::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
        assert_eq!(world.value::<String>(MARKS).await, marks, "{url}");
    }
    let claimed = ClaimedDelivery { url: "https://example.com/new".to_owned(), ..claimed };
    finish(&world, &claimed, RETRY).await;
    assert_eq!(world.value::<String>(MARKS).await, "f 1 t t", "its first failure disables nothing");
}

#[tokio::test]
async fn url_changed_while_a_410_is_stored_stays_enabled() {
    let (world, claimed) = one_failure_before_disabling().await;
    let change = "update webhook_endpoints set url = 'https://example.com/new'";
    world.database.overtaken_by(change, finish(&world, &claimed, DeliveryOutcome::Gone)).await;
    assert!(world.ledger.outbox().endpoint(&world.ann, "w").await.unwrap().unwrap().enabled);
    let pending = "select count(*) from webhook_deliveries where status = 'pending'";
    assert_eq!(world.count(pending).await, 2);
}

#[tokio::test]
async fn failure_of_an_old_url_waits_until_the_new_one_is_enabled() {
    let (world, claimed) = claimed_delivery().await;
    let (url, enabled) = (Some("https://example.com/new".to_owned()), Some(false));
    let change = EndpointChange { url, enabled, ..EndpointChange::default() };
    world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
    finish(&world, &claimed, RETRY).await;
    let parked = "select count(*) from webhook_deliveries where status = 'pending' and next_at = 'infinity'";
    assert_eq!(world.count(parked).await, 1);
}

#[tokio::test]
async fn last_status_is_kept_when_cancelled_and_cleared_without_an_answer() {
    for (outcome, kept) in [(DeliveryOutcome::Cancelled, Some(500_i16)), (RETRY_WITHOUT_ANSWER, None)] {
        let (world, claimed) = claimed_delivery().await;
        world.run("update webhook_deliveries set last_status = 500").await;
        finish(&world, &claimed, outcome).await;
        let last: Option<i16> = world.value("select last_status::smallint from webhook_deliveries").await;
        assert_eq!(last, kept, "{outcome:?}");
    }
}

const RETRY_WITHOUT_ANSWER: DeliveryOutcome =
    DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };

#[tokio::test]
async fn enabling_an_endpoint_resets_its_failures() {
    let (world, _) = claimed_delivery().await;
    world
        .run(
            "update webhook_endpoints set enabled = false, disabled_reason = 'failing', consecutive_failures = 7, \
                 failing_since = now(), open_until = now() + interval '1 hour', waking = true",
        )
        .await;
    assert_eq!(set(&world, false).await.as_deref(), Some("failing"));
    assert_eq!(world.count("select count(*) from webhook_endpoints where waking").await, 0);
    assert_eq!(set(&world, true).await, None);
    let clean = "select count(*) from webhook_endpoints where consecutive_failures = 0 and failing_since is null \
        and open_until is null and not waking";
    assert_eq!(world.count(clean).await, 1);
}

#[tokio::test]
async fn claim_deliveries_locks_endpoints_of_due_deliveries_only() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world.pending(&world.ann, "w", 1).await;
    let (free, claimed) = endpoints_free_during_a_claim(&world, "new.status = 'sending'").await;
    assert_eq!(claimed, 1);
    assert_eq!(free, [("ann".to_owned(), "v".to_owned()), ("bob".to_owned(), "w".to_owned())]);
}

#[tokio::test]
async fn waking_parked_deliveries_locks_their_endpoint_or_skips_a_locked_one() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world.pending(&world.ann, "w", 1).await;
    world.pending(&world.ann, "v", 1).await;
    world
        .run(
            "update webhook_deliveries set next_at = 'infinity' where endpoint_id = 'w'; \
             update webhook_endpoints set waking = true where user_id = 'ann' and endpoint_id = 'w'",
        )
        .await;
    let held = "select from webhook_endpoints where user_id = 'ann' and endpoint_id = 'w' for update";
    let mut holder = world.database.hold_locks(held).await;
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 1, "the other endpoint's delivery is sent");
    // The server ends a session some time after it is closed; a claim skips what is locked until then.
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (free, claimed) = endpoints_free_during_a_claim(&world, "old.next_at = 'infinity'").await;
    assert_eq!(claimed, 1);
    assert_eq!(free, [("ann".to_owned(), "v".to_owned()), ("bob".to_owned(), "w".to_owned())]);
    assert_eq!(
        world.count("select count(*) from webhook_endpoints where waking").await,
        0,
        "no parked delivery is left"
    );
}

/// The endpoints that are unlocked while a claim updates its first row of a kind, and how many deliveries the claim
/// takes.
async fn endpoints_free_during_a_claim(world: &World, kind: &str) -> (Vec<(String, String)>, usize) {
    let stop = format!(
        "create function stop() returns trigger language plpgsql as \
             $$begin perform pg_advisory_xact_lock_shared(1); return new; end$$; \
         create trigger stop before update on webhook_deliveries for each row when ({kind}) execute function stop()"
    );
    world.database.run(&stop).await;
    let mut other = PgConnection::connect_with(&world.database.options()).await.unwrap();
    sqlx::raw_sql("select pg_advisory_lock(1)").execute(&mut other).await.unwrap();
    let ledger = world.ledger.clone();
    let claim = tokio::spawn(async move {
        ledger.outbox().claim_deliveries(9, &DeliveryPolicy::default(), None).await.unwrap().claimed
    });
    world.database.until_somebody_waits().await;
    let free =
        "select user_id, endpoint_id from webhook_endpoints order by 1, 2 for no key update skip locked";
    let free = world.rows(free).await;
    sqlx::raw_sql("select pg_advisory_unlock(1)").execute(&mut other).await.unwrap();
    (free, claim.await.unwrap().len())
}

#[tokio::test]
async fn claimed_deliveries_have_the_url_of_their_own_endpoint() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world.run("update webhook_endpoints set url = user_id || ' ' || endpoint_id").await;
    for (user, id) in [(&world.ann, "w"), (&world.ann, "v"), (&world.bob, "w")] {
        world.pending(user, id, 1).await;
    }
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 3);
    for one in claimed {
        assert_eq!(one.url, format!("{} {}", one.user_id, one.endpoint_id));
    }
}

#[tokio::test]
async fn test_delivery_to_a_disabled_endpoint_is_refused() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    let test = async |id| world.ledger.outbox().test_delivery(&world.ann, "w", id).await.unwrap();
    assert!(test("before").await.is_ok());
    set(&world, false).await;
    assert_eq!(test("d").await, Err(TestRefusal::Disabled));
    assert!(test("before").await.is_ok(), "a repeat finds what was written");
    assert_eq!(world.count("select count(*) from webhook_deliveries where delivery_id = 'd'").await, 0);
    set(&world, true).await;
    assert!(test("d").await.is_ok());
}
