//! Push subscriptions: twenty per user, also under concurrent requests; and the pushes of a due reminder, none for
//! completed items, and none twice.

use outbox::{DeliveryOutcome, NewSubscription, PushPolicy, SubscriptionKind, TooManySubscriptions};
use secrecy::SecretString;

use crate::{
    push_isolation::with_pushes,
    reminders::{conversation_with_item, in_an_hour},
    world::World,
};

fn webhook(url: &str) -> NewSubscription {
    NewSubscription { kind: SubscriptionKind::Webhook, url: url.to_owned() }
}

/// The statement that creates subscriptions `s{from}` to `s{to}`.
fn subscriptions(user: &str, from: u32, to: u32) -> String {
    format!(
        "insert into push_subscriptions (user_id, subscription_id, kind, url) \
         select '{user}', 's' || n, 'webhook', 'https://example.com/' || n from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn subscriptions_are_limited_per_user() {
    let world = World::new().await;
    world.database.run(&subscriptions("bob", 1, 20)).await;
    let new = webhook("https://example.com/a");
    assert!(world.ledger.outbox().subscribe(&world.ann, &new).await.unwrap().is_ok());
    assert_eq!(world.ledger.outbox().subscribe(&world.bob, &new).await.unwrap(), Err(TooManySubscriptions));
}

#[tokio::test]
async fn concurrent_subscribes_keep_to_the_limit() {
    let world = World::new().await;
    world.database.run(&subscriptions("ann", 1, 19)).await;
    let twentieth = format!(
        "select from users where user_id = 'ann' for no key update; {}",
        subscriptions("ann", 20, 20)
    );
    let operation = async {
        world.ledger.outbox().subscribe(&world.ann, &webhook("https://example.com/21")).await.unwrap()
    };
    let done = world.database.overtaken_by(&twentieth, operation).await;
    assert_eq!(done, Err(TooManySubscriptions));
    assert_eq!(world.count("select count(*) from push_subscriptions").await, 20);
}

#[tokio::test]
async fn repeated_web_push_subscribe_replaces_keys_and_resets_failures() {
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

/// The service's own network is down for six days. If that removed subscriptions, their browsers would get no more reminders.
#[tokio::test]
async fn browsers_subscription_stays_while_its_push_service_does_not_answer() {
    for (status, stays) in [(None, 1), (Some(503), 0)] {
        let world = World::new().await;
        let kind = SubscriptionKind::WebPush { p256dh: "point".into(), auth: SecretString::from("shared") };
        let new = NewSubscription { kind, url: "https://push.example.com/1".to_owned() };
        world.ledger.outbox().subscribe(&world.ann, &new).await.unwrap().unwrap();
        conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await).await;
        world
            .run(
                "update push_subscriptions set failing_since = now() - interval '6 days'; \
                 update push_deliveries set tries = 5",
            )
            .await;
        let (outbox, policy) = (world.ledger.outbox(), PushPolicy::default());
        let last = outbox.claim_pushes(1, &policy, None).await.unwrap().claimed.remove(0);
        let failed =
            DeliveryOutcome::Retry { status, error: "unreachable", retry_after: None, jitter_permille: 0 };
        assert!(outbox.finish_push(&last, failed, &policy).await.unwrap());
        assert_eq!(outbox.subscriptions(&world.ann).await.unwrap().len(), stays, "{status:?}");
    }
}

const DUE: &str = "select count(*) from push_deliveries where notice = 'due'";

#[tokio::test]
async fn fire_reminders_creates_no_push_for_completed_items() {
    for done in [
        "update action_items set completed = true, completed_at = now() where user_id = 'ann'",
        "update action_items set due_at = null where user_id = 'ann'",
        "update action_items set due_at = due_at + interval '1 day' where user_id = 'ann'",
    ] {
        let world = with_pushes().await;
        // With raw SQL, which does not cancel the reminder.
        world.run(done).await;
        world.run("update reminders set fire_at = now()").await;
        assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 2);
        assert_eq!(world.count(DUE).await, 1, "Bob's: {done}");
    }
}

#[tokio::test]
async fn reminder_that_fires_twice_is_pushed_once() {
    let world = with_pushes().await;
    world.run("update reminders set fire_at = now() where user_id = 'ann'").await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 1);
    assert_eq!(world.count(DUE).await, 2, "one for each of Ann's subscriptions");
    // As if an operator had set it back by hand.
    world.run("update reminders set fire_at = now()").await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 2);
    assert_eq!(world.count(DUE).await, 3, "Bob's came in addition");
}
