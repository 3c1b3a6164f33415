//! Endpoints that are disabled or whose breaker is open: due deliveries, and those whose sender died, wait until they
//! open, and no others move.

use std::time::Duration;

use ledger::Ledger;
use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, EndpointChange};

use crate::world::World;

async fn claim(ledger: &Ledger) -> Vec<ClaimedDelivery> {
    ledger.outbox().claim_deliveries(50, &DeliveryPolicy::default(), None).await.unwrap().claimed
}

#[tokio::test]
async fn delivery_of_a_dead_sender_waits_until_its_closed_endpoint_opens() {
    for (close, open) in [
        (
            "update webhook_endpoints set enabled = false, disabled_reason = 'owner'",
            "update webhook_endpoints set enabled = true, disabled_reason = null",
        ),
        (
            "update webhook_endpoints set open_until = now() + interval '1 minute'",
            "update webhook_endpoints set open_until = now() - interval '1 second'",
        ),
    ] {
        let world = World::new().await;
        world.endpoint(&world.ann, "w").await;
        world.pending(&world.ann, "w", 1).await;
        let died = claim(&world.ledger).await.remove(0);
        world.run("update webhook_deliveries set sending_until = now() - interval '1 second'").await;
        world.run(close).await;
        assert!(claim(&world.ledger).await.is_empty());
        let next_poll = world.ledger.outbox().next_delivery_in().await.unwrap();
        assert!(
            next_poll.is_none_or(|wait| wait > Duration::from_secs(30)),
            "no dispatcher polls for it: {next_poll:?}"
        );
        let late = DeliveryOutcome::Delivered { status: 200 };
        let policy = DeliveryPolicy::default();
        assert!(
            !world.ledger.outbox().finish_delivery(&died, late, &policy).await.unwrap(),
            "its claim is over"
        );
        world.run(open).await;
        world.run("update webhook_deliveries set next_at = now()").await;
        let next = claim(&world.ledger).await.remove(0);
        assert_eq!((next.epoch, next.try_number), (2, 2));
    }
}

#[tokio::test]
async fn late_failure_of_a_dead_sender_is_refused() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    let policy = DeliveryPolicy::default();
    let refused =
        DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };
    let first = claim(&world.ledger).await.remove(0);
    assert!(world.ledger.outbox().finish_delivery(&first, refused, &policy).await.unwrap());
    world.run("update webhook_deliveries set next_at = now()").await;
    let died = claim(&world.ledger).await.remove(0);
    world
        .run(
            "update webhook_deliveries set sending_until = now() - interval '1 second'; \
             update webhook_endpoints set open_until = now() + interval '1 minute'",
        )
        .await;
    assert!(claim(&world.ledger).await.is_empty());
    assert!(
        !world.ledger.outbox().finish_delivery(&died, refused, &policy).await.unwrap(),
        "its claim is over"
    );
    let shown = world
        .ledger
        .outbox()
        .deliveries(&world.ann, "w", &outbox::DeliveryPage::first(9))
        .await
        .unwrap()
        .remove(0);
    assert_eq!((shown.status.as_str(), shown.last_error.as_deref()), ("pending", Some("abandoned")));
}

#[tokio::test]
async fn closed_endpoint_moves_no_finished_or_sending_deliveries() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world.pending(&world.ann, "w", 1).await;
    // Each of Ann's finished deliveries at `w` has one with the same id that is due at another endpoint.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, sending_until, \
                 finished_at, occurred_at) \
             select u, e, id, 'conversation.completed', status, now() + next, now() + until, \
                 case when status = 'delivered' then now() end, now() \
             from (values ('ann', 'w', 'a', 'delivered', null::interval, null::interval), \
                 ('ann', 'w', 'b', 'delivered', null, null), ('ann', 'w', 'c', 'delivered', null, null), \
                 ('ann', 'w', 'd', 'delivered', null, null), ('ann', 'w', 'e', 'delivered', '-1 minute', null), \
                 ('ann', 'w', 'alive', 'sending', null, '1 minute'), ('ann', 'v', 'a', 'sending', null, '-1 minute'), \
                 ('bob', 'w', 'b', 'sending', null, '-1 minute'), ('ann', 'v', 'c', 'pending', '-1 minute', null), \
                 ('bob', 'w', 'd', 'pending', '-1 minute', null)) d (u, e, id, status, next, until); \
             update webhook_endpoints set enabled = false, disabled_reason = 'owner' \
                 where user_id = 'ann' and endpoint_id = 'w'",
        )
        .await;
    assert_eq!(claim(&world.ledger).await.len(), 4, "those that are due elsewhere");
    let rows: Vec<String> = world.list("select delivery_id || ' ' || status from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' order by 1").await;
    let ended = ["a", "b", "c", "d", "e"].map(|id| format!("{id} delivered"));
    let expected: Vec<String> =
        ended.into_iter().chain(["alive sending".to_owned(), "w_0 pending".to_owned()]).collect();
    assert_eq!(rows.len(), expected.len());
    assert!(expected.iter().all(|row| rows.contains(row)), "{rows:?}");
}

#[tokio::test]
async fn claim_skips_locked_rows_of_a_closed_endpoint() {
    let world = World::new().await;
    for id in ["w", "calm"] {
        world.endpoint(&world.ann, id).await;
    }
    world.pending(&world.ann, "w", 2).await;
    world.pending(&world.ann, "calm", 1).await;
    world
        .run(
            "update webhook_deliveries set status = 'sending', next_at = null, sending_until = now() - interval '1 second' \
                 where delivery_id = 'w_0'; \
             update webhook_endpoints set enabled = false, disabled_reason = 'owner' where endpoint_id = 'w'",
        )
        .await;
    let mut holders = Vec::new();
    for held in [
        "select from webhook_deliveries where delivery_id = 'w_0' for update",
        "select from webhook_deliveries where delivery_id = 'w_1' for update",
    ] {
        holders.push(world.database.hold_locks(held).await);
    }
    let claimed = claim(&world.ledger).await;
    assert_eq!((claimed.len(), claimed[0].endpoint_id.as_str()), (1, "calm"));
}

#[tokio::test]
async fn dead_sender_at_a_closed_endpoint_moves_its_own_delivery_only() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 3).await;
    world
        .run(
            "update webhook_deliveries set status = 'sending', next_at = null, \
                 sending_until = now() + case delivery_id when 'w_0' then -1 else 1 end * interval '1 minute' \
                 where delivery_id <> 'w_2'; \
             update webhook_deliveries set next_at = now() + interval '2 hours' where delivery_id = 'w_2'; \
             update webhook_endpoints set open_until = now() + interval '1 minute'",
        )
        .await;
    assert!(claim(&world.ledger).await.is_empty());
    let rows: Vec<(String, String, Option<bool>)> = world.rows("select delivery_id, status, next_at < now() + interval '90 minutes' from webhook_deliveries order by 1").await;
    let expected =
        [("w_0", "pending", Some(true)), ("w_1", "sending", None), ("w_2", "pending", Some(false))];
    assert_eq!(rows, expected.map(|(id, status, soon)| (id.to_owned(), status.to_owned(), soon)));
}

#[tokio::test]
async fn closed_endpoint_postpones_its_own_deliveries_only() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    // Of Ann's deliveries at `w` one is due and one lost its sender; four others have one with the same id elsewhere
    // that is due or lost its sender.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, sending_until, \
                 occurred_at) \
             select u, e, id, 'conversation.completed', case when next is null then 'sending' else 'pending' end, \
                 now() + next, now() + until, now() \
             from (values ('ann', 'w', 'due', '-1 minute'::interval, null::interval), \
                 ('ann', 'w', 'dead', null, '-1 minute'), ('ann', 'w', 'a', '2 hours', null), \
                 ('ann', 'w', 'b', '2 hours', null), ('ann', 'w', 'c', null, '1 minute'), \
                 ('ann', 'w', 'd', null, '1 minute'), ('ann', 'v', 'due', '2 hours', null), \
                 ('ann', 'v', 'dead', '2 hours', null), ('bob', 'w', 'due', '2 hours', null), \
                 ('bob', 'w', 'dead', '2 hours', null), ('ann', 'v', 'a', '-1 minute', null), \
                 ('bob', 'w', 'b', '-1 minute', null), ('ann', 'v', 'c', null, '-1 minute'), \
                 ('bob', 'w', 'd', null, '-1 minute')) d (u, e, id, next, until); \
             update webhook_endpoints set open_until = now() + interval '1 minute' \
                 where user_id = 'ann' and endpoint_id = 'w'",
        )
        .await;
    assert_eq!(claim(&world.ledger).await.len(), 4, "those that are due elsewhere");
    for (which, rows) in [
        (
            "status = 'pending' and next_at > now() + interval '90 minutes'",
            "aw/a aw/b av/dead av/due bw/dead bw/due",
        ),
        ("status = 'pending' and next_at <= now() + interval '90 minutes'", "aw/dead aw/due"),
        ("status = 'sending'", "aw/c aw/d av/a av/c bw/b bw/d"),
    ] {
        let query = format!(
            "select string_agg(left(user_id, 1) || endpoint_id || '/' || delivery_id, ' ' \
                 order by user_id, endpoint_id desc, delivery_id) from webhook_deliveries where {which}"
        );
        let found: String =
            sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&world.pool).await.unwrap();
        assert_eq!(found, rows, "{which}");
    }
}

#[tokio::test]
async fn finished_deliveries_stay_finished_when_the_endpoint_is_toggled() {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world.pending(&world.ann, "w", 1).await;
    // Elsewhere, two deliveries with the same ids wait for endpoints that are being woken, and two have a time of
    // their own.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
                 select 'ann', 'w', id, 'conversation.completed', 'delivered', now(), now() \
                 from unnest('{a,b,c,d}'::text[]) id; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
                 select u, e, id, 'conversation.completed', 'pending', next, now() \
                 from (values ('ann', 'v', 'a', 'infinity'::timestamptz), ('bob', 'w', 'b', 'infinity'), \
                     ('ann', 'v', 'c', now() + interval '1 hour'), ('bob', 'w', 'd', now() + interval '1 hour')) \
                     t (u, e, id, next); \
             update webhook_endpoints set waking = true where (user_id, endpoint_id) <> ('ann', 'w')",
        )
        .await;
    let ended = "select count(*) from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
        and status = 'delivered' and next_at is null";
    for enabled in [false, true] {
        let change = EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
        assert_eq!(world.count(ended).await, 4);
    }
    let waking = "select count(*) from webhook_endpoints where waking";
    assert_eq!(world.count(waking).await, 2, "the others, and nothing waits for this one");
    world.run("update webhook_endpoints set waking = false").await;
    let claimed = claim(&world.ledger).await.remove(0);
    let policy = DeliveryPolicy::default();
    assert!(world.ledger.outbox().finish_delivery(&claimed, DeliveryOutcome::Gone, &policy).await.unwrap());
    assert_eq!(world.count(ended).await, 4);
}

#[tokio::test]
async fn locked_deliveries_are_skipped_by_park_wake_and_cancel() {
    let enabled = |enabled| EndpointChange { enabled: Some(enabled), ..EndpointChange::default() };
    for operation in ["park", "wake", "cancel"] {
        let world = World::new().await;
        world.endpoint(&world.ann, "w").await;
        let policy = DeliveryPolicy::default();
        let sent = match operation {
            "cancel" => {
                world.pending(&world.ann, "w", 4).await;
                world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed.pop()
            }
            _ => {
                world.pending(&world.ann, "w", 3).await;
                None
            }
        };
        if operation == "wake" {
            world.ledger.outbox().change_endpoint(&world.ann, "w", &enabled(false)).await.unwrap().unwrap();
        }
        let _held = world
            .database
            .hold_locks("select from webhook_deliveries where delivery_id = 'w_2' for update")
            .await;
        match sent {
            Some(sent) => {
                assert!(
                    world
                        .ledger
                        .outbox()
                        .finish_delivery(&sent, DeliveryOutcome::Gone, &policy)
                        .await
                        .unwrap()
                );
            }
            None => drop(
                world
                    .ledger
                    .outbox()
                    .change_endpoint(&world.ann, "w", &enabled(operation == "wake"))
                    .await
                    .unwrap(),
            ),
        }
        let moved = match operation {
            "park" => "select count(*) from webhook_deliveries where next_at = 'infinity'",
            "wake" => "select count(*) from webhook_deliveries where next_at < 'infinity'",
            _ => "select count(*) from webhook_deliveries where status = 'cancelled'",
        };
        assert_eq!(world.count(moved).await, 2, "{operation}: all but the one that is held");
    }
}
