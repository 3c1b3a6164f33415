//! Cancelled pushes: those of the changed or deleted item, of its user, that are not sent yet; and their lock order.

use ledger::ItemChange;
use records::{ActionItemId, ConversationId};

use crate::{
    reminders::{complete, conversation_with_item, in_an_hour, subscribe},
    world::World,
};

/// Ann and Bob, each with the items `i` and `j` and, of each item, a push in every status.
async fn with_pushes() -> World {
    let world = World::new().await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, due_at, created_at, updated_at) \
                 select u, i, 'Do', now() + interval '1 hour', now(), now() \
                 from unnest(array['ann', 'bob']) u, unnest(array['i', 'j']) i; \
             insert into reminders (user_id, action_item_id, revision, due_at, fire_at) \
                 select user_id, action_item_id, 1, due_at, due_at from action_items; \
             insert into push_subscriptions (user_id, subscription_id, kind, url) \
                 select u, 's', 'webhook', 'https://example.com/' || u from unnest(array['ann', 'bob']) u; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, sending_until, finished_at, created_at) \
                 select user_id, 's', action_item_id || '_' || status, action_item_id, 'set', due_at, status, \
                     case when status = 'pending' then now() end, \
                     case when status = 'sending' then now() + interval '1 minute' end, \
                     case when status in ('delivered', 'exhausted') then now() - interval '1 minute' end, now() \
                 from action_items, unnest(array['pending', 'sending', 'delivered', 'exhausted']) status",
        )
        .await;
    world
}

/// All pushes except those that are to be cancelled.
const OTHERS: &str = "select jsonb_agg(to_jsonb(p) order by user_id, delivery_id)::text from push_deliveries p \
    where not (user_id = 'ann' and delivery_id in ('i_pending', 'i_sending'))";

#[tokio::test]
async fn completed_or_redated_item_cancels_its_own_unsent_pushes() {
    for done in [true, false] {
        let world = with_pushes().await;
        let others = async || -> String { world.value(OTHERS).await };
        let later = world.ledger.db().now().await.unwrap() + chrono::TimeDelta::hours(3);
        let change = match done {
            true => ItemChange { completed: Some(true), ..ItemChange::default() },
            false => ItemChange { due_at: Some(Some(later)), ..ItemChange::default() },
        };
        let before = others().await;
        let item = ActionItemId::new("i");
        world.ledger.change_action_item(&world.ann, &item, &change).await.unwrap().unwrap();
        // The push for another date is new.
        world.run("delete from push_deliveries where delivery_id like 'push%'").await;
        assert_eq!(others().await, before, "done: {done}");
        let cancelled = "select count(*) from push_deliveries where status = 'cancelled'";
        assert_eq!(world.count(cancelled).await, 2, "done: {done}");
        let waiting = "select count(*) from reminders where fire_at is not null";
        assert_eq!(world.count(waiting).await, if done { 3 } else { 4 }, "done: {done}");
    }
}

/// How many pushes `operation` has not locked while another session, which finishes a push or removes a subscription, has
/// locked all subscriptions.
async fn pushes_free_while_subscriptions_are_locked(
    world: &World,
    operation: impl Future<Output = ()>,
) -> i64 {
    let mut holder = world.database.hold_locks("select from push_subscriptions for update").await;
    let count_unlocked = async {
        world.database.until_somebody_waits().await;
        let free = "select count(*) from (select from push_deliveries for update skip locked) p";
        let free = world.count(free).await;
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        free
    };
    tokio::join!(operation, count_unlocked).1
}

#[tokio::test]
async fn delete_item_locks_subscriptions_before_pushes() {
    let world = with_pushes().await;
    let delete = async {
        assert!(world.ledger.delete_action_item(&world.ann, &ActionItemId::new("i")).await.unwrap());
    };
    assert_eq!(pushes_free_while_subscriptions_are_locked(&world, delete).await, 16, "all of them");
    assert_eq!(world.count("select count(*) from push_deliveries").await, 12);
    let reminders = "select count(*) from reminders where user_id = 'ann' and action_item_id = 'i'";
    assert_eq!(world.count(reminders).await, 0, "its reminder is deleted as well");
}

#[tokio::test]
async fn delete_conversation_locks_subscriptions_before_pushes() {
    let world = with_pushes().await;
    let conversation = world.conversation(&world.ann, "c", "completed", 0).await;
    world.run("update action_items set conversation_id = 'c' where user_id = 'ann'").await;
    let delete = async {
        assert!(world.ledger.delete_conversation(&world.ann, &conversation).await.unwrap());
    };
    assert_eq!(pushes_free_while_subscriptions_are_locked(&world, delete).await, 16, "all of them");
    assert_eq!(world.count("select count(*) from push_deliveries").await, 8);
}

#[tokio::test]
async fn conversation_is_deleted_while_its_push_ends_with_410() {
    let world = with_pushes().await;
    let conversation = world.conversation(&world.ann, "c", "completed", 0).await;
    world.run("update action_items set conversation_id = 'c' where user_id = 'ann'").await;
    // The end of the try, up to where it removes the subscription with its other pushes.
    let mut ending = world
        .database
        .hold_locks(
            "select from push_subscriptions where user_id = 'ann' for update; \
             update push_deliveries set status = 'exhausted', sending_until = null, finished_at = now() \
                 where user_id = 'ann' and delivery_id = 'j_sending'",
        )
        .await;
    let remove = async {
        world.database.until_somebody_waits().await;
        let removed = "delete from push_subscriptions where user_id = 'ann'; commit";
        sqlx::raw_sql(removed).execute(&mut ending).await.unwrap();
    };
    let (deleted, ()) = tokio::join!(world.ledger.delete_conversation(&world.ann, &conversation), remove);
    assert!(deleted.unwrap());
    assert_eq!(world.count("select count(*) from push_deliveries").await, 8);
}

#[tokio::test]
async fn reprocess_locks_subscriptions_before_the_pushes_it_cancels() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    let due_at = in_an_hour(&world).await;
    conversation_with_item(&world, "c", "Call Tom", due_at).await;
    world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap().unwrap();
    let again = complete(&world, "Call Tim", due_at);
    assert_eq!(pushes_free_while_subscriptions_are_locked(&world, again).await, 1, "the first revision's");
}

#[tokio::test]
async fn fire_reminders_fires_due_reminders_only() {
    let world = with_pushes().await;
    world
        .run(
            "update reminders set fire_at = now() - interval '1 second' \
                 where user_id = 'ann' and action_item_id = 'i'",
        )
        .await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 1);
    assert_eq!(world.count("select count(*) from reminders where fire_at is null").await, 1);
}

#[tokio::test]
async fn fire_reminders_skips_locked_reminders() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now() - interval '1 second'").await;
    let held = "select from reminders where user_id = 'ann' and action_item_id = 'i' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 3);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 1);
}

#[tokio::test]
async fn fire_reminders_keeps_to_its_limit() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now() - interval '1 second'").await;
    for fired in [3, 1, 0] {
        assert_eq!(world.ledger.outbox().fire_reminders(3).await.unwrap(), fired);
    }
}
