//! Reminders: what is pushed, when, to whom, and never twice.

use std::{collections::HashMap, sync::Arc};

use chrono::TimeDelta;
use futures::FutureExt;
use job::{Outcome, Queue, WorkerId};
use ledger::{ClaimRequest, Completion, CreateOutcome, NewContent, NewConversation, NewItem, Results};
use outbox::{
    ClaimedPush, DeliveryOutcome, NewSubscription, PushPolicy, SubscriptionKind, TooManySubscriptions,
};
use records::{ConversationId, Source, Timestamp, UserId};
use secrecy::{ExposeSecret, SecretString};
use testbed::at_once;

use crate::{push_claims::reminder, webhook_isolation::changes_only_own, world::World};

pub(crate) async fn subscribe(world: &World, user: &UserId, url: &str) -> String {
    let new = NewSubscription { kind: SubscriptionKind::Webhook, url: url.to_owned() };
    world.ledger.outbox().subscribe(user, &new).await.unwrap().unwrap().id
}

/// Completes a conversation of Ann's with an action item that is due at `due_at`.
pub(crate) async fn conversation_with_item(world: &World, id: &str, task: &str, due_at: Timestamp) {
    let text =
        NewContent::Text { text: task.to_owned(), text_source: "message".to_owned(), text_source_spec: None };
    let new = NewConversation::new(ConversationId::new(id), text, Source::new("phone"));
    let outcome = world.ledger.create_conversation(&world.ann, new, None).await.unwrap();
    assert!(matches!(outcome, CreateOutcome::Admitted(_)));
    complete(world, task, due_at).await;
}

/// Claims and completes the one queued job.
pub(crate) async fn complete(world: &World, task: &str, due_at: Timestamp) {
    let request = ClaimRequest {
        queue: Queue::Creation,
        worker: WorkerId("w".to_owned()),
        slots: 1,
        share: 1,
        most: 1,
        running: HashMap::default(),
    };
    let claimed = world.ledger.claim(&request).await.unwrap().claims.remove(0);
    let item = NewItem { description: task.to_owned(), due_at: Some(due_at) };
    let results = Results { items: vec![item], engine: "test".to_owned(), ..Results::default() };
    let same = Arc::new(|one: &str, other: &str| one == other);
    let completion = Completion { claimed, outcome: Outcome::Kept, results, same };
    world.ledger.complete(&Arc::new(completion)).await.unwrap();
}

pub(crate) async fn in_an_hour(world: &World) -> Timestamp {
    world.ledger.db().now().await.unwrap() + TimeDelta::hours(1)
}

/// A world where Ann has a subscription, and an action item that is due in an hour.
pub(crate) async fn with_item_due_in_an_hour() -> World {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await).await;
    world
}

async fn claim(world: &World) -> Vec<ClaimedPush> {
    world.ledger.outbox().claim_pushes(9, &PushPolicy::default(), None).await.unwrap().claimed
}

async fn finish(world: &World, push: &ClaimedPush, outcome: DeliveryOutcome) -> bool {
    world.ledger.outbox().finish_push(push, outcome, &PushPolicy::default()).await.unwrap()
}

async fn next_push(world: &World) -> Option<std::time::Duration> {
    world.ledger.outbox().next_push_in(&PushPolicy::default()).await.unwrap()
}

/// Lets an hour pass.
async fn an_hour_later(world: &World) {
    world
        .run(
            "update action_items set due_at = due_at - interval '1 hour'; \
             update reminders set due_at = due_at - interval '1 hour', fire_at = fire_at - interval '1 hour'; \
             update push_deliveries set due_at = due_at - interval '1 hour'",
        )
        .await;
}

const DELIVERED: DeliveryOutcome = DeliveryOutcome::Delivered { status: 201 };
const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };

#[tokio::test]
async fn extracted_due_date_is_pushed_at_once_and_when_it_is_due() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    subscribe(&world, &world.ann, "https://example.com/b").await;
    subscribe(&world, &world.bob, "https://example.com/bob").await;
    let due_at = in_an_hour(&world).await;
    conversation_with_item(&world, "c", "Call Tom", due_at).await;
    assert!(world.ledger.db().waker().pushes_waiting().now_or_never().is_some(), "no dispatcher was woken");

    let pushes = claim(&world).await;
    let mut urls: Vec<_> = pushes.iter().map(|push| push.url.as_str()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["https://example.com/a", "https://example.com/b"]);
    assert_eq!((pushes[0].pushed.words(), pushes[0].try_number), ("Call Tom", 1));
    assert_eq!((reminder(&pushes[0]).2 - due_at).num_milliseconds(), 0);
    assert_eq!(pushes[0].delivery_id, pushes[1].delivery_id, "one notice for two subscriptions");
    for push in &pushes {
        assert!(finish(&world, push, DELIVERED).await);
    }
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 0, "not yet");
    assert!(next_push(&world).await.unwrap().as_secs() > 3_500);

    an_hour_later(&world).await;
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 1);
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 0, "once");
    let again = claim(&world).await;
    assert_eq!(again.len(), 2);
    assert_ne!(again[0].delivery_id, pushes[0].delivery_id);
    assert!(claim(&world).await.is_empty());
    for push in &again {
        finish(&world, push, DELIVERED).await;
    }
    assert_eq!(next_push(&world).await, None, "no push is left");
}

#[tokio::test]
async fn web_push_is_claimed_with_the_browsers_keys() {
    let world = World::new().await;
    let kind = SubscriptionKind::WebPush { p256dh: "point".into(), auth: SecretString::from("shared") };
    let new = NewSubscription { kind, url: "https://push.example.com/1".to_owned() };
    world.ledger.outbox().subscribe(&world.ann, &new).await.unwrap().unwrap();
    conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await).await;
    let claimed = claim(&world).await.remove(0);
    let SubscriptionKind::WebPush { p256dh, auth } = claimed.kind else { panic!("{claimed:?}") };
    assert_eq!((p256dh.as_str(), auth.expose_secret()), ("point", "shared"));
}

#[tokio::test]
async fn reprocess_with_the_same_due_date_is_not_pushed_again() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    let due_at = in_an_hour(&world).await;
    conversation_with_item(&world, "c", "Call Tom", due_at).await;
    finish(&world, &claim(&world).await[0], DELIVERED).await;
    let again = async |due_at| {
        world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap().unwrap();
        complete(&world, "Call Tom", due_at).await;
    };
    again(due_at).await;
    assert!(claim(&world).await.is_empty());
    assert!(next_push(&world).await.unwrap().as_secs() > 3_500, "but when it has come");
    again(due_at + TimeDelta::hours(1)).await;
    assert_eq!(claim(&world).await.len(), 1, "another due date is pushed");
}

#[tokio::test]
async fn another_item_with_the_same_due_date_is_pushed() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    let due_at = in_an_hour(&world).await;
    conversation_with_item(&world, "c", "Call Tom", due_at).await;
    finish(&world, &claim(&world).await[0], DELIVERED).await;
    world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap().unwrap();
    complete(&world, "Call Tim", due_at).await;
    let pushes = claim(&world).await;
    assert_eq!(pushes.len(), 1);
    assert_eq!(pushes[0].pushed.words(), "Call Tim");
}

#[tokio::test]
async fn past_due_date_is_pushed_once() {
    let world = World::new().await;
    subscribe(&world, &world.ann, "https://example.com/a").await;
    conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await - TimeDelta::hours(3)).await;
    assert_eq!(claim(&world).await.len(), 1);
    assert_eq!(world.ledger.outbox().fire_reminders(9).await.unwrap(), 0);
}

#[tokio::test]
async fn later_subscription_is_pushed_when_the_item_is_due() {
    let world = World::new().await;
    conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await).await;
    assert!(claim(&world).await.is_empty());
    subscribe(&world, &world.ann, "https://example.com/a").await;
    an_hour_later(&world).await;
    world.ledger.outbox().fire_reminders(9).await.unwrap();
    assert_eq!(claim(&world).await.len(), 1);
}

#[tokio::test]
async fn completed_redated_and_deleted_items_are_not_pushed() {
    for change in [
        "update action_items set completed = true, completed_at = now()",
        "update action_items set due_at = null",
        "update action_items set due_at = due_at + interval '1 day'",
        "delete from action_items",
    ] {
        let world = with_item_due_in_an_hour().await;
        // With raw SQL: even a writer that forgets the reminder causes no wrong push.
        world.run(change).await;
        assert!(claim(&world).await.is_empty(), "{change}");
        world.run("update reminders set fire_at = now() - interval '1 second'").await;
        world.ledger.outbox().fire_reminders(9).await.unwrap();
        assert!(claim(&world).await.is_empty(), "{change}");
        assert_eq!(next_push(&world).await, None, "{change}");
    }
}

#[tokio::test]
async fn deleting_the_conversation_deletes_its_reminders_and_pushes() {
    let world = with_item_due_in_an_hour().await;
    assert!(world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap());
    assert_eq!(world.count("select count(*) from reminders").await, 0);
    assert_eq!(world.count("select count(*) from push_deliveries").await, 0);
}

#[tokio::test]
async fn failed_push_is_retried_later_and_exhausted_after_six_tries() {
    let world = with_item_due_in_an_hour().await;
    for number in 1..=6 {
        let push = claim(&world).await.remove(0);
        assert_eq!(push.try_number, number);
        assert!(finish(&world, &push, AGAIN).await);
        assert!(!finish(&world, &push, DELIVERED).await, "a claim ends once");
        assert!(claim(&world).await.is_empty(), "not at once");
        world.run("update push_deliveries set next_at = now() where status = 'pending'").await;
    }
    assert_eq!(world.count("select count(*) from push_deliveries where status = 'exhausted'").await, 1);
}

#[tokio::test]
async fn dead_push_sender_is_fenced_by_the_next_claim() {
    let world = with_item_due_in_an_hour().await;
    let dead = claim(&world).await.remove(0);
    assert!(claim(&world).await.is_empty());
    world.run("update push_deliveries set sending_until = now() - interval '1 second'").await;
    let next = claim(&world).await.remove(0);
    assert_eq!((next.try_number, next.epoch), (2, 2));
    assert!(!finish(&world, &dead, DELIVERED).await);
    assert!(finish(&world, &next, DELIVERED).await);
}

#[tokio::test]
async fn finish_push_is_idempotent() {
    let refused = DeliveryOutcome::Final { status: Some(400), error: "status" };
    for outcome in [DELIVERED, AGAIN, refused, DeliveryOutcome::Gone] {
        let world = with_item_due_in_an_hour().await;
        let push = claim(&world).await.remove(0);
        assert!(finish(&world, &push, outcome).await);
        let there = changes_only_own(&world, "false", finish(&world, &push, outcome)).await;
        assert!(there, "{outcome:?}");
    }
    for outcome in [AGAIN, refused] {
        let world = with_item_due_in_an_hour().await;
        world.run("update push_deliveries set tries = 5").await;
        let push = claim(&world).await.remove(0);
        world.run("update push_subscriptions set failing_since = now() - interval '5 days'").await;
        assert!(finish(&world, &push, outcome).await);
        assert!(world.ledger.outbox().subscriptions(&world.ann).await.unwrap().is_empty());
        assert!(finish(&world, &push, outcome).await, "{outcome:?}: it took the subscription along");
        assert!(!finish(&world, &push, DELIVERED).await);
    }
}

#[tokio::test]
async fn finish_push_is_refused_after_another_claim_finished() {
    let world = with_item_due_in_an_hour().await;
    let dead = claim(&world).await.remove(0);
    world.run("update push_deliveries set sending_until = now() - interval '1 second'").await;
    let next = claim(&world).await.remove(0);
    let refused = DeliveryOutcome::Final { status: None, error: "timeout" };
    assert!(finish(&world, &next, refused).await);
    assert!(!finish(&world, &dead, refused).await, "another claim finished it");
    assert!(!finish(&world, &next, AGAIN).await, "it was finished with another outcome");

    world.run("update push_deliveries set last_error = 'lost'").await;
    assert!(!finish(&world, &next, refused).await, "it was given up for a sender that died");
}

#[tokio::test]
async fn subscription_is_removed_when_gone_or_failing_for_days() {
    let world = World::new().await;
    let there = async || world.ledger.outbox().subscriptions(&world.ann).await.unwrap();
    subscribe(&world, &world.ann, "https://example.com/a").await;
    conversation_with_item(&world, "c", "Call Tom", in_an_hour(&world).await).await;
    finish(&world, &claim(&world).await[0], DeliveryOutcome::Gone).await;
    assert!(there().await.is_empty());

    subscribe(&world, &world.ann, "https://example.com/b").await;
    conversation_with_item(&world, "d", "Call Tim", in_an_hour(&world).await).await;
    finish(&world, &claim(&world).await[0], AGAIN).await;
    assert!(there().await[0].failing_since.is_some());
    // No push for days, and then one try that fails.
    world
        .run(
            "update push_subscriptions set failing_since = now() - interval '5 days'; \
             update push_deliveries set next_at = now() where status = 'pending'",
        )
        .await;
    finish(&world, &claim(&world).await[0], AGAIN).await;
    assert_eq!(there().await.len(), 1, "the push is tried again");
    world.run("update push_deliveries set next_at = now(), tries = 5 where status = 'pending'").await;
    finish(&world, &claim(&world).await[0], AGAIN).await;
    assert!(there().await.is_empty(), "its last try failed, too");
}

#[tokio::test]
async fn errors_before_sending_do_not_count_against_the_subscription() {
    let unreadable =
        DeliveryOutcome::Retry { status: None, error: "unreadable", retry_after: None, jitter_permille: 0 };
    let unconfigured = DeliveryOutcome::Final { status: None, error: "unconfigured" };
    for outcome in [unreadable, unconfigured] {
        let world = with_item_due_in_an_hour().await;
        let push = claim(&world).await.remove(0);
        for failing_since in ["null", "now() - interval '6 days'"] {
            let then = format!(
                "update push_subscriptions set failing_since = {failing_since}; \
                 update push_deliveries set status = 'sending', next_at = null, finished_at = null, \
                     sending_until = now() + interval '1 minute'"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(then)).execute(&world.pool).await.unwrap();
            assert!(finish(&world, &push, outcome).await);
            let there = world.ledger.outbox().subscriptions(&world.ann).await.unwrap();
            assert_eq!(there.len(), 1, "{outcome:?}");
            assert_eq!(there[0].failing_since.is_some(), failing_since != "null", "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn subscribe_is_idempotent_by_url_and_limited_to_twenty() {
    let world = World::new().await;
    let first = subscribe(&world, &world.ann, "https://example.com/0").await;
    assert_eq!(subscribe(&world, &world.ann, "https://example.com/0").await, first);
    assert_ne!(subscribe(&world, &world.bob, "https://example.com/0").await, first);
    for n in 1..20 {
        subscribe(&world, &world.ann, &format!("https://example.com/{n}")).await;
    }
    let one_more =
        NewSubscription { kind: SubscriptionKind::Webhook, url: "https://example.com/20".to_owned() };
    let refused = world.ledger.outbox().subscribe(&world.ann, &one_more).await.unwrap();
    assert_eq!(refused, Err(TooManySubscriptions));
    assert_eq!(
        subscribe(&world, &world.ann, "https://example.com/0").await,
        first,
        "a repeat is no new subscription"
    );
    assert!(!world.ledger.outbox().unsubscribe(&world.bob, &first).await.unwrap());
    assert!(world.ledger.outbox().unsubscribe(&world.ann, &first).await.unwrap());
    assert_eq!(world.ledger.outbox().subscriptions(&world.ann).await.unwrap().len(), 19);
}

async fn with_nine_pushes_to_one_subscription() -> World {
    let world = with_item_due_in_an_hour().await;
    world
        .run(
            "insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, created_at) \
                 select user_id, subscription_id, 'd' || n, action_item_id, notice, due_at, status, next_at, created_at \
                 from push_deliveries, generate_series(1, 8) n",
        )
        .await;
    world
}

#[tokio::test]
async fn one_subscription_has_at_most_four_pushes_in_flight() {
    let world = with_nine_pushes_to_one_subscription().await;
    let first = claim(&world).await;
    assert_eq!(first.len(), 4, "four at once");
    assert!(claim(&world).await.is_empty());
    finish(&world, &first[0], DELIVERED).await;
    assert_eq!(claim(&world).await.len(), 1, "one push finished");
}

#[tokio::test]
async fn push_dispatcher_waits_for_a_subscription_at_the_limit_and_is_woken() {
    let world = with_nine_pushes_to_one_subscription().await;
    let next = async || next_push(&world).await.unwrap().as_secs();
    assert_eq!(next().await, 0);
    let first = claim(&world).await;
    assert_eq!(first.len(), 4);
    assert!(next().await > 15, "none of the other five is due before a try ends, or its sender is dead");

    let dead = "update push_deliveries set status = 'sending', next_at = null, sending_until = now() \
        where status = 'pending' and delivery_id = (select min(delivery_id) from push_deliveries \
            where status = 'pending')";
    world.run(dead).await;
    assert!(next().await > 15, "nor is a push of a dead sender");
    subscribe(&world, &world.bob, "https://example.com/bob").await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
                 select 'bob', action_item_id, description, created_at, updated_at, due_at from action_items; \
             insert into reminders (user_id, action_item_id, revision, due_at) \
                 select 'bob', action_item_id, 1, due_at from action_items where user_id = 'bob'; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                     next_at, created_at) \
                 select 'bob', subscription_id, 'd', action_item_id, 'set', due_at, 'pending', now(), now() \
                 from push_subscriptions join reminders using (user_id) where user_id = 'bob'",
        )
        .await;
    assert_eq!(next().await, 0, "another subscription is below the limit");
    let bobs = claim(&world).await;
    assert_eq!(bobs.len(), 1);
    assert!(next().await > 15);
    assert!(finish(&world, &bobs[0], DELIVERED).await);

    let waker = world.ledger.db().waker();
    // Consumes the wake-up of what was written so far.
    let _ = waker.pushes_waiting().now_or_never();
    assert!(finish(&world, &first[0], DELIVERED).await);
    assert!(waker.pushes_waiting().now_or_never().is_some(), "a waiting dispatcher is woken");
    assert_eq!(next().await, 0);
    world
        .run(
            "delete from push_deliveries where status = 'pending'; \
             update push_deliveries set sending_until = now() where status = 'sending'",
        )
        .await;
    assert_eq!(next().await, 0, "four dead senders do not count");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_dispatchers_fire_and_claim_once() {
    let world = with_item_due_in_an_hour().await;
    finish(&world, &claim(&world).await[0], DELIVERED).await;
    an_hour_later(&world).await;
    let rounds = [0; 4].map(|_| {
        let ledger = world.other_process();
        async move {
            let fired = ledger.outbox().fire_reminders(9).await.unwrap();
            (
                fired,
                ledger.outbox().claim_pushes(9, &PushPolicy::default(), None).await.unwrap().claimed.len(),
            )
        }
    });
    let rounds = at_once(rounds).await;
    let (mut fired, mut sent) = (0, claim(&world).await.len());
    for (one, other) in rounds {
        fired += one;
        sent += other;
    }
    sent += claim(&world).await.len();
    assert_eq!((fired, sent), (1, 1));
}
