//! Subscribing to pushes, and what a reminder's moment writes: each person's own twenty, also of two at once; nothing of
//! what is done, and nothing twice.

use outbox::{NewSubscription, SubscriptionKind, TooManySubscriptions};
use secrecy::SecretString;

use crate::{push_strangers::with_pushes, world::World};

fn webhook(url: &str) -> NewSubscription {
    NewSubscription { kind: SubscriptionKind::Webhook, url: url.to_owned() }
}

/// The statement that makes so many subscriptions.
fn subscriptions(user: &str, from: u32, to: u32) -> String {
    format!(
        "insert into push_subscriptions (user_id, subscription_id, kind, url) \
         select '{user}', 's' || n, 'webhook', 'https://example.com/' || n from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn somebody_elses_subscriptions_are_not_counted() {
    let world = World::new().await;
    world.database.run(&subscriptions("bob", 1, 20)).await;
    let new = webhook("https://example.com/a");
    assert!(world.ledger.outbox().subscribe(&world.ann, &new).await.unwrap().is_ok());
    assert_eq!(world.ledger.outbox().subscribe(&world.bob, &new).await.unwrap(), Err(TooManySubscriptions));
}

#[tokio::test]
async fn who_subscribes_while_another_does_is_counted_after_it() {
    let world = World::new().await;
    world.database.run(&subscriptions("ann", 1, 19)).await;
    let twentieth = format!(
        "select from users where user_id = 'ann' for no key update; {}",
        subscriptions("ann", 20, 20)
    );
    let verb = async {
        world.ledger.outbox().subscribe(&world.ann, &webhook("https://example.com/21")).await.unwrap()
    };
    let done = world.database.overtaken_by(&twentieth, verb).await;
    assert_eq!(done, Err(TooManySubscriptions));
    assert_eq!(world.count("select count(*) from push_subscriptions").await, 20);
}

#[tokio::test]
async fn a_browser_that_subscribes_again_is_reached_with_its_new_keys_and_is_sound_again() {
    let world = World::new().await;
    let browser = async |p256dh: &str, auth: &str| {
        let kind = SubscriptionKind::WebPush { p256dh: p256dh.into(), auth: SecretString::from(auth) };
        let new = NewSubscription { kind, url: "https://push.example.com/1".to_owned() };
        world.ledger.outbox().subscribe(&world.ann, &new).await.unwrap().unwrap()
    };
    let first = browser("old", "older").await;
    world.run("update push_subscriptions set failing_since = now()").await;
    let again = browser("new", "newer").await;
    assert_eq!(again, first, "one subscription, and nothing fails");
    let keys: Vec<(String, String)> = world.rows("select p256dh, auth from push_subscriptions").await;
    assert_eq!(keys, [("new".to_owned(), "newer".to_owned())]);
}

const DUE: &str = "select count(*) from push_deliveries where notice = 'due'";

#[tokio::test]
async fn of_what_is_done_when_its_moment_comes_no_push_is_written() {
    for done in [
        "update action_items set completed = true, completed_at = now() where user_id = 'ann'",
        "update action_items set due_at = null where user_id = 'ann'",
        "update action_items set due_at = due_at + interval '1 day' where user_id = 'ann'",
    ] {
        let world = with_pushes().await;
        // Behind the ledger's back: the reminder was forgotten.
        world.run(done).await;
        world.run("update reminders set fire_at = now()").await;
        assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 2);
        assert_eq!(world.count(DUE).await, 1, "Bob's: {done}");
    }
}

#[tokio::test]
async fn a_moment_that_comes_twice_is_pushed_once_and_hinders_no_other() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now() where user_id = 'ann'").await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 1);
    assert_eq!(world.count(DUE).await, 2, "one for each of Ann's subscriptions");
    // As by a hand that sets it back.
    world.run("update reminders set fire_at = now()").await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 2);
    assert_eq!(world.count(DUE).await, 3, "Bob's came in addition");
}
