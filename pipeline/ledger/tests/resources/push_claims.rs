//! Claims of pushes: which rows are sent, cancelled, left alone or given up, and what a claimed push contains.

use ledger::ItemChange;
use outbox::{ClaimedPush, DeliveryOutcome, PushPolicy, Pushed, Subscription};
use records::{ActionItemId, Timestamp};

use crate::{
    push_isolation::{S, with_pushes},
    webhook_isolation::changes_only_own,
    world::World,
};

const DELIVERED: DeliveryOutcome = DeliveryOutcome::Delivered { status: 201 };
const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

async fn claim(world: &World) -> Vec<ClaimedPush> {
    world.ledger.outbox().claim_pushes(9, &PushPolicy::default(), None).await.unwrap().claimed
}

/// A world where only Ann's `d_0` of `s` is due.
async fn with_one_due() -> World {
    let world = with_pushes().await;
    world
        .run(
            "update push_deliveries set next_at = now() + interval '1 hour' \
             where not (user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0')",
        )
        .await;
    world
}

async fn status(world: &World) -> (String, bool) {
    world
        .row(
            "select status, next_at > now() is true from push_deliveries \
         where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await
}

#[tokio::test]
async fn push_with_an_outdated_due_date_is_cancelled() {
    let world = with_one_due().await;
    world
        .run(
            "update push_deliveries set due_at = due_at - interval '1 day' \
             where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    assert!(changes_only_own(&world, S, claim(&world)).await.is_empty());
    assert_eq!(status(&world).await, ("cancelled".into(), false));
}

/// Copies Ann's `d_0` of `s` `many` times to each of her subscriptions `of` (an array); then these copies are as `state` says.
async fn copies(world: &World, of: &str, many: usize, state: &str) {
    world
        .database
        .run(&format!(
            "insert into push_subscriptions (user_id, subscription_id, kind, url) \
                 select 'ann', unnest({of}), 'webhook', 'https://example.com' on conflict do nothing; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, created_at) \
                 select user_id, s, 'copy_' || n, action_item_id, notice, due_at, 'pending', \
                     now() - interval '1 hour', created_at \
                 from push_deliveries, unnest({of}) s, generate_series(1, {many}) n \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'; \
             update push_deliveries set {state} where delivery_id like 'copy_%' and subscription_id = any ({of})"
        ))
        .await;
}

const SENDING: &str =
    "status = 'sending', next_at = null, sending_until = clock_timestamp() + interval '1 minute'";

#[tokio::test]
async fn push_of_a_subscription_at_the_limit_is_left_as_it_is() {
    let world = with_one_due().await;
    copies(&world, "array['s']", 4, SENDING).await;
    let one_minute = world.ledger.outbox().next_push_in(&PushPolicy::default()).await.unwrap().unwrap();
    assert!(one_minute.as_secs() > 50, "what waits for its subscription is not polled for: {one_minute:?}");
    assert!(changes_only_own(&world, "false", claim(&world)).await.is_empty());
}

#[tokio::test]
async fn subscriptions_at_the_limit_do_not_hold_back_another_of_their_user() {
    let world = with_one_due().await;
    copies(&world, "array['q1', 'q2', 'q3']", 4, SENDING).await;
    let next = world.ledger.outbox().next_push_in(&PushPolicy::default()).await.unwrap();
    assert_eq!(next, Some(std::time::Duration::ZERO));
    let [push] = &claim(&world).await[..] else { panic!("one is due, and its subscription is idle") };
    assert_eq!(push.subscription_id, "s");
}

#[tokio::test]
async fn backlogs_of_eight_subscriptions_do_not_delay_another() {
    let world = with_one_due().await;
    let eight = "array['q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8']";
    copies(&world, eight, 100, "next_at = next_at - interval '1 day'").await;
    let mut claimed = Vec::new();
    for _ in 0..5 {
        claimed.extend(claim(&world).await);
    }
    assert_eq!(claimed.iter().filter(|push| push.subscription_id == "s").count(), 1);
    assert_eq!(claimed.len(), 8 * 4 + 1);
}

#[tokio::test]
async fn backlog_of_one_user_is_not_locked_and_does_not_delay_others() {
    let world = with_pushes().await;
    for backlog in [
        // Pending pushes, and those of dead senders.
        "status = 'pending', next_at = clock_timestamp() - interval '1 hour', sending_until = null",
        "status = 'sending', sending_until = clock_timestamp() - interval '1 hour', next_at = null",
    ] {
        let seeded = format!(
            "delete from push_deliveries where user_id = 'ann'; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, created_at) \
                 select user_id, 's', 'd_' || n, 'i', 'set', due_at, 'pending', now(), now() \
                 from reminders, generate_series(1, 200) n where user_id = 'ann'; \
             update push_deliveries set {backlog} where user_id = 'ann'; \
             update push_deliveries set status = 'pending', next_at = now(), sending_until = null where user_id = 'bob'"
        );
        world.database.run(&seeded).await;
        let users: Vec<_> = claim(&world).await.into_iter().map(|push| push.user_id).collect();
        let of = |user| users.iter().filter(|one| *one == user).count();
        assert_eq!((of(&world.ann), of(&world.bob)), (4, 2));
        // Not even locked, as a lock is a write, too.
        let locks = "select sum(xmax::text::bigint)::bigint from push_deliveries";
        let locked = world.count(locks).await;
        assert!(changes_only_own(&world, "false", claim(&world)).await.is_empty());
        assert_eq!(world.count(locks).await, locked);
    }
}

#[tokio::test]
async fn claim_skips_a_locked_push_that_is_to_be_given_up() {
    let world = with_pushes().await;
    world
        .run(
            "update push_deliveries set status = 'sending', tries = 9, next_at = null, \
                 sending_until = now() - interval '1 second' \
             where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    let held = "select from push_deliveries where user_id = 'ann' and subscription_id = 's' \
        and delivery_id = 'd_0' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(claim(&world).await.len(), 5);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(claim(&world).await.is_empty());
    assert_eq!(status(&world).await, ("exhausted".into(), false));
}

#[tokio::test]
async fn push_has_its_own_users_text_and_url() {
    let world = with_pushes().await;
    // `d_0` is about `i`, and `d_1` about `h`.
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
                 select user_id, 'h', 'h', created_at, updated_at, due_at from action_items; \
             update action_items set description = user_id || ' ' || action_item_id; \
             insert into reminders (user_id, action_item_id, revision, due_at) \
                 select user_id, 'h', revision, due_at from reminders; \
             update push_deliveries set action_item_id = 'h' where delivery_id = 'd_1'",
        )
        .await;
    let claimed = claim(&world).await;
    assert_eq!(claimed.len(), 6);
    for push in claimed {
        let item = if push.delivery_id == "d_0" { "i" } else { "h" };
        let (id, words, _) = reminder(&push);
        assert_eq!((id, words), (item, format!("{} {item}", push.user_id).as_str()));
        assert_eq!(push.url, format!("https://example.com/{}{}", push.user_id, push.subscription_id));
    }
}

#[tokio::test]
async fn item_change_locks_the_users_subscriptions_before_pushes() {
    let later = Some(Some("2126-03-03T09:00:00Z".parse().unwrap()));
    for change in [
        ItemChange { completed: Some(true), ..ItemChange::default() },
        ItemChange { due_at: later, ..ItemChange::default() },
    ] {
        let world = with_pushes().await;
        let mut holder = world.database.hold_locks("select from push_deliveries for update").await;
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        let changed = tokio::spawn(async move {
            ledger.change_action_item(&ann, &ActionItemId::new("i"), &change).await.unwrap()
        });
        world.database.until_somebody_waits().await;
        let free: Vec<String> = world
            .list("select user_id || ' ' || subscription_id from push_subscriptions for update skip locked")
            .await;
        assert_eq!(free, ["bob s"]);
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        assert!(changed.await.unwrap().is_some());
        let cancelled = "select count(*) from push_deliveries where user_id = 'ann' and status = 'cancelled'";
        assert_eq!(world.count(cancelled).await, 4);
    }
}

#[tokio::test]
async fn new_due_date_of_an_item_is_pushed_again() {
    let world = with_pushes().await;
    world.run("delete from push_deliveries").await;
    let due_at = world.ledger.db().now().await.unwrap();
    for days in 1..=3 {
        let due_at = due_at + chrono::TimeDelta::days(days);
        let dated = ItemChange { due_at: Some(Some(due_at)), ..ItemChange::default() };
        let item = ActionItemId::new("i");
        world.ledger.change_action_item(&world.ann, &item, &dated).await.unwrap().unwrap();
        let pushes = claim(&world).await;
        assert_eq!(pushes.len(), 2, "one for each of Ann's subscriptions");
        assert!(pushes.iter().all(|push| (reminder(push).2 - due_at).num_milliseconds() == 0));
    }
}

#[tokio::test]
async fn fire_reminders_skips_a_subscription_deleted_meanwhile() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now()").await;
    let removed = "delete from push_subscriptions where user_id = 'ann' and subscription_id = 's'";
    let operation = async { world.ledger.outbox().fire_reminders(9).await.unwrap() };
    assert_eq!(world.database.overtaken_by(removed, operation).await, 2);
    let due: Vec<String> = world
        .list("select user_id || ' ' || subscription_id from push_deliveries where notice = 'due' order by 1")
        .await;
    assert_eq!(due, ["ann r", "bob s"]);
}

#[tokio::test]
async fn pushes_of_dead_senders_in_the_last_try_are_given_up_in_batches() {
    let world = with_pushes().await;
    world
        .run(
            "delete from push_deliveries; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     tries, sending_until, created_at) \
                 select user_id, 's', 'd_' || n, 'i', 'set', due_at, 'sending', 99, \
                     clock_timestamp() - interval '1 minute', now() \
                 from reminders, generate_series(1, 1200) n where user_id = 'ann'",
        )
        .await;
    for given_up in [1_000, 200, 0] {
        let claims = world.ledger.outbox().claim_pushes(0, &PushPolicy::default(), None).await.unwrap();
        assert_eq!(claims.given_up, given_up);
    }
}

/// The item, text and due date of a reminder.
pub(crate) fn reminder(push: &ClaimedPush) -> (&str, &str, Timestamp) {
    match &push.pushed {
        Pushed::Reminder { action_item_id, description, due_at } => {
            (action_item_id.as_str(), description, *due_at)
        }
        Pushed::Message { .. } => panic!("no app writes here"),
    }
}

/// Claims all pushes; returns the two of Ann'subscription_s `subscription_s`.
async fn claim_of_s(world: &World) -> Vec<ClaimedPush> {
    let mut claimed =
        world.ledger.outbox().claim_pushes(9, &PushPolicy::default(), None).await.unwrap().claimed;
    claimed.retain(|push| push.user_id == world.ann && push.subscription_id == "s");
    assert_eq!(claimed.len(), 2);
    claimed
}

async fn finish(world: &World, claimed: &ClaimedPush, outcome: DeliveryOutcome) {
    assert!(world.ledger.outbox().finish_push(claimed, outcome, &PushPolicy::default()).await.unwrap());
}

async fn subscription_s(world: &World) -> Option<Subscription> {
    world.ledger.outbox().subscriptions(&world.ann).await.unwrap().into_iter().find(|one| one.id == "s")
}

#[tokio::test]
async fn success_resets_failing_since_and_a_later_failure_removes_nothing() {
    let world = with_pushes().await;
    world.run("update push_subscriptions set failing_since = now() - interval '6 days'").await;
    let claimed = claim_of_s(&world).await;
    finish(&world, &claimed[0], DELIVERED).await;
    let reached = subscription_s(&world).await.unwrap();
    assert_eq!(reached.failing_since, None);
    assert!(reached.last_success_at.is_some());
    finish(&world, &claimed[1], AGAIN).await;
    assert!(subscription_s(&world).await.is_some());
}
