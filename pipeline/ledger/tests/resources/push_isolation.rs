//! Isolation of pushes: two users have subscriptions, items and pushes with the same ids, and an operation on one
//! push changes no other.

use outbox::{ClaimedPush, DeliveryOutcome, PushPolicy};
use sqlx::PgConnection;
use tokio::task::JoinHandle;

use crate::{webhook_isolation::changes_only_own, world::World};

const DELIVERED: DeliveryOutcome = DeliveryOutcome::Delivered { status: 201 };
const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

/// Ann's subscription `s` with its push `d_0`, which is due first.
pub(crate) const S: &str = "t ->> 'subscription_id' = 's' and coalesce(t ->> 'delivery_id', 'd_0') = 'd_0'";
/// The subscription `s` and all of its pushes.
const ALL_OF_S: &str = "t ->> 'subscription_id' = 's'";

/// Ann's `s` and `r` and Bob's `s`, each with the due pushes `d_0` and `d_1` of an item `i`.
pub(crate) async fn with_pushes() -> World {
    let world = World::new().await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
                 select u, 'i', 'Call Tom', now(), now(), '2126-03-02T09:00Z' from unnest(array['ann', 'bob']) u; \
             insert into reminders (user_id, action_item_id, revision, due_at) \
                 select user_id, action_item_id, 1, due_at from action_items; \
             insert into push_subscriptions (user_id, subscription_id, kind, url) \
                 select u, s, 'webhook', 'https://example.com/' || u || s \
                 from (values ('ann', 's'), ('ann', 'r'), ('bob', 's')) t (u, s); \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, \
                     status, next_at, created_at) \
                 select user_id, subscription_id, 'd_' || n, 'i', 'set', r.due_at, 'pending', \
                     clock_timestamp() - interval '1 minute', now() \
                 from push_subscriptions join reminders r using (user_id), generate_series(0, 1) n; \
             update push_deliveries set next_at = next_at - interval '1 hour' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    world
}

async fn claim_some(world: &World, limit: i64) -> Vec<ClaimedPush> {
    world.ledger.outbox().claim_pushes(limit, &PushPolicy::default(), None).await.unwrap().claimed
}

/// Claims all six, Ann's `d_0` of `s` first.
async fn claim_all(world: &World) -> Vec<ClaimedPush> {
    let mut claimed = claim_some(world, 9).await;
    assert_eq!(claimed.len(), 6);
    claimed.sort_by_key(|one| {
        (one.user_id.as_str() != "ann", one.subscription_id != "s", one.delivery_id.clone())
    });
    claimed
}

async fn finish(world: &World, claimed: &ClaimedPush, outcome: DeliveryOutcome) -> bool {
    world.ledger.outbox().finish_push(claimed, outcome, &PushPolicy::default()).await.unwrap()
}

#[tokio::test]
async fn claim_changes_one_push() {
    let world = with_pushes().await;
    let claimed = changes_only_own(&world, S, claim_some(&world, 1)).await;
    assert_eq!(claimed.len(), 1);
    let first = &claimed[0];
    assert_eq!((first.user_id.as_str(), first.subscription_id.as_str()), ("ann", "s"));
    assert_eq!((first.epoch, first.try_number, first.url.as_str()), (1, 1, "https://example.com/anns"));
}

#[tokio::test]
async fn finish_push_changes_one_push_and_its_subscription() {
    let refused = DeliveryOutcome::Final { status: Some(400), error: "status" };
    for outcome in [DELIVERED, AGAIN, refused, DeliveryOutcome::Cancelled] {
        let world = with_pushes().await;
        let claimed = claim_all(&world).await;
        assert!(changes_only_own(&world, S, finish(&world, &claimed[0], outcome)).await);
        for other in &claimed[1..] {
            assert!(finish(&world, other, DELIVERED).await, "every other try goes on");
        }
    }
}

#[tokio::test]
async fn gone_subscription_deletes_its_own_pushes_only() {
    let world = with_pushes().await;
    let claimed = claim_all(&world).await;
    assert!(changes_only_own(&world, ALL_OF_S, finish(&world, &claimed[0], DeliveryOutcome::Gone)).await);
    assert_eq!(world.count("select count(*) from push_subscriptions").await, 2);
    assert!(!finish(&world, &claimed[1], DELIVERED).await, "its other push is gone, too");
    let world = with_pushes().await;
    assert!(
        changes_only_own(&world, ALL_OF_S, async {
            world.ledger.outbox().unsubscribe(&world.ann, "s").await.unwrap()
        })
        .await
    );
}

#[tokio::test]
async fn finish_push_of_a_deleted_push_finds_no_other_with_its_id() {
    let world = with_pushes().await;
    let claimed = claim_all(&world).await;
    for other in &claimed[1..] {
        assert!(finish(&world, other, DELIVERED).await);
    }
    world
        .run("delete from push_deliveries where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'")
        .await;
    assert!(!finish(&world, &claimed[0], DELIVERED).await);
}

#[tokio::test]
async fn dead_sender_in_its_last_try_gives_up_one_push() {
    let world = with_pushes().await;
    claim_all(&world).await;
    world
        .run(
            "update push_deliveries set tries = 9, sending_until = now() - interval '1 second' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    assert!(changes_only_own(&world, S, claim_some(&world, 9)).await.is_empty());
    assert_eq!(world.count("select count(*) from push_deliveries where status = 'exhausted'").await, 1);
}

#[tokio::test]
async fn last_try_in_progress_is_left_to_its_sender() {
    let world = with_pushes().await;
    let claimed = claim_all(&world).await;
    world.run("update push_deliveries set tries = 9").await;
    assert!(claim_some(&world, 9).await.is_empty());
    assert!(finish(&world, &claimed[0], DELIVERED).await);
}

#[tokio::test]
async fn dead_senders_do_not_count_against_the_users_limit() {
    let world = with_pushes().await;
    claim_all(&world).await;
    assert!(claim_some(&world, 9).await.is_empty());
    world.run("update push_deliveries set sending_until = now() - interval '1 second'").await;
    assert!(claim_all(&world).await.iter().all(|one| one.epoch == 2));
}

#[tokio::test]
async fn claim_reads_the_item_of_its_own_user() {
    let world = with_pushes().await;
    world.run("update action_items set completed = true, completed_at = now() where user_id = 'bob'").await;
    let claimed = claim_some(&world, 9).await;
    assert!(claimed.iter().all(|one| one.user_id == world.ann));
    assert_eq!(claimed.len(), 4);
    let cancelled = "select count(*) from push_deliveries where user_id = 'bob' and status = 'cancelled'";
    assert_eq!(world.count(cancelled).await, 2);
}

#[tokio::test]
async fn claim_skips_locked_pushes() {
    let world = with_pushes().await;
    let held = "select from push_deliveries where user_id = 'ann' and subscription_id = 's' \
        and delivery_id = 'd_0' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(claim_some(&world, 9).await.len(), 5);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let last = claim_some(&world, 9).await;
    assert_eq!((last.len(), last[0].delivery_id.as_str(), last[0].try_number), (1, "d_0", 1));
}

/// A claim that has read the pushes, and waits where it reads their items until the session ends.
async fn claim_blocked_at_items(
    world: &World,
    policy: PushPolicy,
) -> (PgConnection, JoinHandle<Vec<ClaimedPush>>) {
    world
        .run(
            "create function stop() returns boolean language plpgsql volatile as \
                 $$begin perform pg_advisory_xact_lock_shared(1); return true; end$$; \
             alter table action_items rename to things; \
             create view action_items as select * from things where stop()",
        )
        .await;
    let holder = world.database.hold_locks("select pg_advisory_xact_lock(1)").await;
    let ledger = world.other_process();
    let claiming =
        tokio::spawn(async move { ledger.outbox().claim_pushes(9, &policy, None).await.unwrap().claimed });
    world.database.until_somebody_waits().await;
    (holder, claiming)
}

#[tokio::test]
async fn push_claimed_by_another_process_meanwhile_is_claimed_once() {
    let world = with_pushes().await;
    let (mut holder, claiming) = claim_blocked_at_items(&world, PushPolicy::default()).await;
    // Another process claims one, and postpones another.
    world
        .run(
            "update push_deliveries set status = 'sending', epoch = 1, tries = 1, next_at = null, \
                 sending_until = clock_timestamp() + interval '30 seconds' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'; \
             update push_deliveries set next_at = clock_timestamp() + interval '1 minute' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_1'",
        )
        .await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let claimed = claiming.await.unwrap();
    assert_eq!(claimed.len(), 4, "{claimed:?}");
    assert!(claimed.iter().all(|one| one.user_id == world.bob || one.subscription_id == "r"));
    let theirs = "select count(*) from push_deliveries where user_id = 'ann' and subscription_id = 's' \
        and (status, epoch) in (('sending', 1), ('pending', 0))";
    assert_eq!(world.count(theirs).await, 2);
}

#[tokio::test]
async fn push_claimed_by_another_process_counts_against_its_subscriptions_limit() {
    let world = with_pushes().await;
    let (mut holder, claiming) =
        claim_blocked_at_items(&world, PushPolicy { per_subscription: 1, ..PushPolicy::default() }).await;
    world
        .run(
            "update push_deliveries set status = 'sending', epoch = 1, tries = 1, next_at = null, \
                 sending_until = clock_timestamp() + interval '30 seconds' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let mut claimed: Vec<_> =
        claiming.await.unwrap().into_iter().map(|push| (push.user_id, push.subscription_id)).collect();
    claimed.sort();
    assert_eq!(claimed, [(world.ann.clone(), "r".to_owned()), (world.bob.clone(), "s".to_owned())]);
}

#[tokio::test]
async fn finish_push_locks_its_subscription_before_its_push() {
    let world = with_pushes().await;
    let claimed = claim_all(&world).await.remove(0);
    let mut holder = world.database.hold_locks("select from push_deliveries for update").await;
    let ledger = world.ledger.clone();
    let operation = tokio::spawn(async move {
        ledger.outbox().finish_push(&claimed, AGAIN, &PushPolicy::default()).await.unwrap()
    });
    world.database.until_somebody_waits().await;
    let free: Vec<String> = world
        .list(
            "select user_id || ' ' || subscription_id from push_subscriptions order by 1 \
         for no key update skip locked",
        )
        .await;
    assert_eq!(free, ["ann r", "bob s"]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(operation.await.unwrap());
}
