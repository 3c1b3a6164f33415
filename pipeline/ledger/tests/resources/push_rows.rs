//! What a claim of pushes does to rows that it does not send: cancelled, left alone, given up, each the very one; and what
//! it says of those that it does send.

use ledger::ItemChange;
use outbox::{ClaimedPush, PushPolicy};
use records::ActionItemId;

use crate::{
    push_marks::reminder,
    push_strangers::{S, with_pushes},
    strangers::spared,
    world::World,
};

async fn claim(world: &World) -> Vec<ClaimedPush> {
    world.ledger.outbox().claim_pushes(9, &PushPolicy::default()).await.unwrap().claimed
}

/// Only Ann's `d_0` of `s` is due.
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
async fn a_push_of_a_date_that_is_no_longer_the_items_is_cancelled_alone() {
    let world = with_one_due().await;
    world
        .run(
            "update push_deliveries set due_at = due_at - interval '1 day' \
             where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'",
        )
        .await;
    assert!(spared(&world, S, claim(&world)).await.is_empty());
    assert_eq!(status(&world).await, ("cancelled".into(), false));
}

#[tokio::test]
async fn a_push_of_a_person_with_enough_under_way_is_left_as_it_is() {
    let world = with_one_due().await;
    world
        .run(
            "insert into push_subscriptions (user_id, subscription_id, kind, url) values ('ann', 'q', 'webhook', 'u'); \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, created_at) \
                 select user_id, 'q', delivery_id, action_item_id, notice, due_at, status, next_at, created_at \
                 from push_deliveries where user_id = 'ann' and subscription_id = 'r'; \
             update push_deliveries set status = 'sending', next_at = null, \
                 sending_until = now() + interval '1 minute' where subscription_id in ('q', 'r')",
        )
        .await;
    assert!(spared(&world, "false", claim(&world)).await.is_empty());
}

#[tokio::test]
async fn a_persons_backlog_is_not_written_by_those_who_look_at_it_and_hides_nobody_elses() {
    let world = with_pushes().await;
    for backlog in [
        // Pushes that wait, and senders that died.
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
        let people: Vec<_> = claim(&world).await.into_iter().map(|push| push.user_id).collect();
        let of = |user| people.iter().filter(|one| *one == user).count();
        assert_eq!((of(&world.ann), of(&world.bob)), (4, 2));
        // Not even locked, which is written, too.
        let locks = "select sum(xmax::text::bigint)::bigint from push_deliveries";
        let locked = world.count(locks).await;
        assert!(spared(&world, "false", claim(&world)).await.is_empty());
        assert_eq!(world.count(locks).await, locked);
    }
}

#[tokio::test]
async fn a_push_that_somebody_gives_up_keeps_no_other_waiting() {
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
async fn each_push_says_its_own_persons_words_to_its_own_receiver() {
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
async fn whoever_takes_pushes_back_holds_their_persons_subscriptions_before() {
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
async fn another_date_of_the_same_item_is_told_anew() {
    let world = with_pushes().await;
    world.run("delete from push_deliveries").await;
    let due_at = world.ledger.db().now().await.unwrap();
    for days in 1..=3 {
        let due_at = due_at + chrono::TimeDelta::days(days);
        let dated = ItemChange { due_at: Some(Some(due_at)), ..ItemChange::default() };
        let item = ActionItemId::new("i");
        world.ledger.change_action_item(&world.ann, &item, &dated).await.unwrap().unwrap();
        let told = claim(&world).await;
        assert_eq!(told.len(), 2, "one for each of Ann's subscriptions");
        assert!(told.iter().all(|push| (reminder(push).2 - due_at).num_milliseconds() == 0));
    }
}

#[tokio::test]
async fn a_subscription_that_is_removed_meanwhile_is_written_nothing_and_hinders_no_other() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now()").await;
    let removed = "delete from push_subscriptions where user_id = 'ann' and subscription_id = 's'";
    let verb = async { world.ledger.outbox().fire_reminders(9).await.unwrap() };
    assert_eq!(world.database.overtaken_by(removed, verb).await, 2);
    let due: Vec<String> = world
        .list("select user_id || ' ' || subscription_id from push_deliveries where notice = 'due' order by 1")
        .await;
    assert_eq!(due, ["ann r", "bob s"]);
}

#[tokio::test]
async fn pushes_whose_senders_died_in_their_last_try_are_given_up_a_hundred_at_a_time() {
    let world = with_pushes().await;
    world
        .run(
            "delete from push_deliveries; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     tries, sending_until, created_at) \
                 select user_id, 's', 'd_' || n, 'i', 'set', due_at, 'sending', 99, \
                     clock_timestamp() - interval '1 minute', now() \
                 from reminders, generate_series(1, 150) n where user_id = 'ann'",
        )
        .await;
    for given_up in [100, 50, 0] {
        let claims = world.ledger.outbox().claim_pushes(0, &PushPolicy::default()).await.unwrap();
        assert_eq!(claims.given_up, given_up);
    }
}
