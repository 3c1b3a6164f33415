//! Rate limits of apps, however many processes send at once: ten messages within any hour, and requests.

use std::{num::NonZeroU32, sync::Arc};

use db::Secrets;
use futures::future::join_all;
use ledger::Ledger;
use outbox::{AppMessage, DeliveryOutcome, NewSubscription, Notified, PushPolicy, Pushed, SubscriptionKind};
use records::UserId;
use store::NewAppKey;
use testbed::at_once;
use tokio::sync::Barrier;

use crate::world::{APP, World, process};

async fn send(ledger: &Ledger, user: &UserId, nth: usize) -> Notified {
    let id = format!("01993b1e-6f0a-7c31-9d55-{nth:012x}");
    let message = AppMessage { id: &id, user, app: APP, text: "hello", key: None };
    ledger.outbox().send_app_message(&message).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_messages_are_limited_to_ten_per_hour() {
    let world = World::new().await;
    world.app().await;
    let processes = [0; 3].map(|_| process(&world.database, Secrets::default()));
    let sends = (0..12).map(|nth| {
        let (ledger, bob) = (processes[nth % 3].clone(), world.bob.clone());
        async move { send(&ledger, &bob, nth).await }
    });
    let answers: Vec<Notified> = at_once(sends).await;
    let sent = answers.iter().filter(|answer| matches!(answer, Notified::Sent { .. })).count();
    let refused: Vec<f64> = answers
        .iter()
        .filter_map(|answer| match answer {
            Notified::TooMany(hour) => Some(hour.frees_in),
            _ => None,
        })
        .collect();
    assert_eq!((sent, refused.len()), (10, 2), "{answers:?}");
    assert!(refused.iter().all(|seconds| (3_580.0..=3_600.0).contains(seconds)), "{refused:?}");
    assert_eq!(world.count("select count(*) from chat_messages").await, 10);
    assert_eq!(world.count("select cardinality(sends)::bigint from app_installs").await, 10);
}

#[tokio::test]
async fn message_limit_is_a_sliding_hour_without_refused_messages() {
    let world = World::new().await;
    world.app().await;
    for nth in 0..10 {
        assert!(matches!(send(&world.ledger, &world.bob, nth).await, Notified::Sent { .. }));
    }
    // Two were sent 59 minutes ago, and one more than an hour ago: only the latter no longer counts.
    world
        .run(
            "update app_installs set sends = array[sends[1] - interval '61 minutes', sends[2] - interval '59 minutes', \
                 sends[3] - interval '59 minutes'] || sends[4:10]",
        )
        .await;
    assert!(matches!(send(&world.ledger, &world.bob, 10).await, Notified::Sent { .. }));
    for nth in 11..14 {
        let Notified::TooMany(hour) = send(&world.ledger, &world.bob, nth).await else { panic!("ten count") };
        assert!((50.0..=60.0).contains(&hour.frees_in), "until the oldest leaves: {hour:?}");
    }
    assert_eq!(world.count("select cardinality(sends)::bigint from app_installs").await, 10);

    // All of them in an hour that is still to come: the database's clock was set back.
    world
        .run(
            "update app_installs set sends = array(select sent + interval '2 hours' from unnest(sends) sent)",
        )
        .await;
    assert!(matches!(send(&world.ledger, &world.bob, 14).await, Notified::Sent { .. }));
    assert_eq!(world.count("select cardinality(sends)::bigint from app_installs").await, 1);
}

#[tokio::test]
async fn message_is_pushed_once_to_every_subscription_with_retries() {
    let world = World::new().await;
    world.app().await;
    for host in ["a", "b"] {
        let new =
            NewSubscription { kind: SubscriptionKind::Webhook, url: format!("https://{host}.example/") };
        world.ledger.outbox().subscribe(&world.bob, &new).await.unwrap().unwrap();
    }
    assert!(matches!(send(&world.ledger, &world.bob, 1).await, Notified::Sent { pushes: 2, .. }));
    let policy = PushPolicy::default();
    let claimed = world.ledger.outbox().claim_pushes(10, &policy, None).await.unwrap().claimed;
    assert_eq!(claimed.len(), 2);
    let Pushed::Message { text, app_name, .. } = &claimed[0].pushed else {
        panic!("not a message of an app")
    };
    assert_eq!((text.as_str(), app_name.as_str()), ("hello", "Writer"));
    assert!(
        world.ledger.outbox().claim_pushes(10, &policy, None).await.unwrap().claimed.is_empty(),
        "under way"
    );
    let retry =
        DeliveryOutcome::Retry { status: Some(500), error: "status", retry_after: None, jitter_permille: 0 };
    assert!(world.ledger.outbox().finish_push(&claimed[0], retry, &policy).await.unwrap());
    let done = DeliveryOutcome::Delivered { status: 200 };
    assert!(world.ledger.outbox().finish_push(&claimed[1], done, &policy).await.unwrap());
    assert!(world.ledger.outbox().finish_push(&claimed[1], done, &policy).await.unwrap(), "recorded once");
    world.run("update push_deliveries set next_at = clock_timestamp() where status = 'pending'").await;
    let again = world.ledger.outbox().claim_pushes(10, &policy, None).await.unwrap().claimed;
    assert_eq!(again.len(), 1);
    assert_eq!(
        (again[0].subscription_id.as_str(), again[0].try_number),
        (claimed[0].subscription_id.as_str(), 2)
    );
    // The push of a dead sender is due again, and its late outcome is refused.
    world.run("update push_deliveries set sending_until = clock_timestamp() where status = 'sending'").await;
    let taken_over = world.ledger.outbox().claim_pushes(10, &policy, None).await.unwrap().claimed;
    assert_eq!(taken_over.len(), 1);
    assert!(!world.ledger.outbox().finish_push(&again[0], done, &policy).await.unwrap());
    assert!(world.ledger.outbox().finish_push(&taken_over[0], DeliveryOutcome::Gone, &policy).await.unwrap());
    assert_eq!(world.count("select count(*) from push_subscriptions").await, 1, "it is gone with its pushes");
}

#[tokio::test]
async fn message_pushes_are_limited_to_four_in_flight_per_subscription() {
    let world = World::new().await;
    world.app().await;
    for host in 0..2 {
        let new =
            NewSubscription { kind: SubscriptionKind::Webhook, url: format!("https://{host}.example/") };
        world.ledger.outbox().subscribe(&world.bob, &new).await.unwrap().unwrap();
    }
    for nth in 0..6 {
        assert!(matches!(send(&world.ledger, &world.bob, nth).await, Notified::Sent { pushes: 2, .. }));
    }
    let policy = PushPolicy::default();
    let claim = async || world.ledger.outbox().claim_pushes(12, &policy, None).await.unwrap().claimed;
    assert_eq!(claim().await.len(), 8);
    assert_eq!(claim().await.len(), 0);
}

/// `cargo test -p ledger --test apps -- --ignored --nocapture messages_a_second`
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a measurement"]
async fn messages_a_second() {
    let world = World::new().await;
    world.app().await;
    world
        .run(
            "insert into users (user_id) select 'u' || n from generate_series(1, 400) n; \
             insert into app_installs (user_id, app_id, owner_id, installed_at) \
                 select u.user_id, a.app_id, 'ann', now() from users u, apps a where u.user_id like 'u%'",
        )
        .await;
    let start = std::time::Instant::now();
    let senders = (0..8_usize).map(|sender| {
        let ledger = world.ledger.clone();
        tokio::spawn(async move {
            for nth in 0..500 {
                let number = sender * 500 + nth;
                let user = UserId::new(format!("u{}", number % 400 + 1));
                assert!(matches!(send(&ledger, &user, number).await, Notified::Sent { .. }));
            }
        })
    });
    join_all(senders).await.into_iter().for_each(|sender| sender.unwrap());
    println!("{:.0} messages a second", 4_000.0 / start.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_app_requests_are_limited_to_ten() {
    let world = World::new().await;
    world.app().await;
    let key = NewAppKey {
        id: "01993b1e-6f0a-7c31-9d55-00000000000a".to_owned(),
        label: String::new(),
        prefix: "lak_ab12…wxyz".to_owned(),
        sha256: [7; 32],
    };
    world.ledger.store().create_app_key(&world.ann, APP, &key).await.unwrap().unwrap();
    let key = world.ledger.store().app_key_owner(&key.sha256).await.unwrap().unwrap();
    let processes = [0; 3].map(|_| process(&world.database, Secrets::default()));
    let barrier = Arc::new(Barrier::new(12));
    let requests = (0..12).map(|nth| {
        let (ledger, key, barrier) = (processes[nth % 3].clone(), key.clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            // Connects first, so that all requests come within the six seconds after which one more is allowed.
            ledger.store().app_key_owner(&[7; 32]).await.unwrap();
            barrier.wait().await;
            ledger.store().admit_app_request(&key, NonZeroU32::new(10).unwrap()).await.unwrap()
        })
    });
    let waits: Vec<f64> = join_all(requests).await.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(waits.len(), 2, "ten pass: {waits:?}");
    assert!(waits.iter().all(|seconds| (0.1..=6.0).contains(seconds)), "{waits:?}");

    world.run("update apps set requests_full_at = requests_full_at - interval '6 seconds'").await;
    let request = || world.ledger.store().admit_app_request(&key, NonZeroU32::new(10).unwrap());
    assert_eq!(request().await.unwrap(), None, "one more every six seconds");

    // An hour ahead, and back: the bucket is as full as it can be empty.
    world.run("update apps set requests_full_at = requests_full_at + interval '1 hour'").await;
    assert_eq!(request().await.unwrap(), None, "the app does not wait for the clock to come there again");
    assert!(request().await.unwrap().is_some_and(|seconds| seconds <= 6.0));
}
