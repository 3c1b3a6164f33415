use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use ledger::NewActionItem;
use outbox::{NewSubscription, PushPolicy, SubscriptionKind};
use outside::Vapid;
use records::ActionItemId;
use secrecy::SecretString;
use worker::{Ended, Settings};

use crate::{
    bench::{Bench, PanickingRender, Working, slots, work, work_with},
    engines::Script,
    receiver::Receiver,
};

/// The example keys of RFC 8291.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const OURS: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";

/// Retries at once, so that a test need not wait.
fn work_with_fast_retries(bench: &Bench) -> Working {
    let vapid = Vapid::new(&SecretString::from(OURS), "mailto:ops@example.com").unwrap();
    let pushes = PushPolicy { schedule: vec![Duration::from_millis(1); 3], ..PushPolicy::default() };
    work(bench.ledger.clone(), &Script::open(), Settings { pushes, vapid: Some(vapid), ..slots(1) })
}

async fn subscribe(bench: &Bench, kind: SubscriptionKind, url: &str) {
    let new = NewSubscription { kind, url: url.to_owned() };
    bench.ledger.outbox().subscribe(&bench.user, &new).await.unwrap().unwrap();
}

fn browser() -> SubscriptionKind {
    let auth = SecretString::from("BTBZMqHH6r4Tts7J_aSIgg");
    SubscriptionKind::WebPush { p256dh: P256DH.to_owned(), auth }
}

/// Everything that waits is due now.
async fn let_time_pass(bench: &Bench) {
    // One transaction: it is the same time in both.
    let due = "update action_items set due_at = now() - interval '1 second'; \
               update reminders set due_at = now() - interval '1 second', fire_at = now() - interval '1 second'";
    bench.database.run(due).await;
}

#[tokio::test]
async fn push_for_an_extracted_due_date_is_sent_when_set_and_when_due() {
    let bench = Bench::new().await;
    let mut hook = Receiver::answering(&[StatusCode::BAD_GATEWAY]).await;
    subscribe(&bench, SubscriptionKind::Webhook, &hook.url).await;
    let mut working = work_with_fast_retries(&bench);
    bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);

    let (first, second) = (hook.next().await, hook.next().await);
    assert_eq!(first.body, "Send the report");
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"), "a retry is the same push");
    assert_eq!(first.uri.query(), None);

    let_time_pass(&bench).await;
    let reminder = hook.next().await;
    assert_ne!(reminder.header("webhook-id"), first.header("webhook-id"));
    let metrics = working.stop_and_count().await;
    assert!(metrics.contains("listen_push_deliveries_total{outcome=\"delivered\"} 2"), "{metrics}");
    assert!(metrics.contains("listen_push_deliveries_total{outcome=\"retry\"} 1"));
}

#[tokio::test]
async fn push_to_a_browser_is_sent_and_a_gone_browser_removed() {
    let bench = Bench::new().await;
    let mut service = Receiver::answering(&[StatusCode::CREATED, StatusCode::NOT_FOUND]).await;
    subscribe(&bench, browser(), &service.url).await;
    let working = work_with_fast_retries(&bench);
    bench.admit("c1").await;

    let heard = service.next().await;
    assert_eq!(heard.header("content-encoding"), "aes128gcm");
    assert!(heard.header("authorization").starts_with("vapid t="));
    assert_eq!((heard.header("ttl"), heard.header("urgency")), ("86400", "normal"));
    assert!(!String::from_utf8_lossy(&heard.body).contains("report"));

    let_time_pass(&bench).await;
    service.next().await;
    working.stop().await;
    assert!(bench.ledger.outbox().subscriptions(&bench.user).await.unwrap().is_empty());
}

#[tokio::test]
async fn push_webhook_answering_404_is_kept() {
    let bench = Bench::new().await;
    let mut hook = Receiver::answering(&[StatusCode::NOT_FOUND]).await;
    subscribe(&bench, SubscriptionKind::Webhook, &hook.url).await;
    let working = work_with_fast_retries(&bench);
    bench.admit("c1").await;
    hook.next().await;
    working.stop().await;
    assert_eq!(bench.ledger.outbox().subscriptions(&bench.user).await.unwrap().len(), 1);
}

/// An item with a due date: a push to each subscription that there is.
async fn item_with_a_date(bench: &Bench, id: &str) {
    let due_at = Some(bench.ledger.db().now().await.unwrap() + chrono::TimeDelta::days(1));
    let item = NewActionItem {
        id: ActionItemId::new(id),
        description: "Call Tom".to_owned(),
        completed: false,
        due_at,
    };
    bench.ledger.create_action_items(&bench.user, &[item]).await.unwrap();
}

#[tokio::test]
async fn silent_receivers_do_not_hold_back_pushes_to_another_of_their_user() {
    let bench = Bench::new().await;
    let mut silent = Receiver::silent().await;
    for path in ["1", "2", "3", "4", "5", "6"] {
        subscribe(&bench, SubscriptionKind::Webhook, &format!("{}?{path}", silent.url)).await;
    }
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    item_with_a_date(&bench, "first").await;
    for _ in 0..6 {
        silent.next().await;
    }
    let mut alive = Receiver::answering(&[]).await;
    subscribe(&bench, SubscriptionKind::Webhook, &alive.url).await;
    let written = Instant::now();
    item_with_a_date(&bench, "second").await;
    alive.next().await;
    assert!(
        written.elapsed() < Duration::from_secs(10),
        "a try of the silent ones lasts 15: {:?}",
        written.elapsed()
    );
    working.hard.cancel();
}

#[tokio::test]
async fn pushes_are_sent_while_reminders_cannot_be_fired() {
    let bench = Bench::new().await;
    let mut hook = Receiver::answering(&[]).await;
    subscribe(&bench, SubscriptionKind::Webhook, &hook.url).await;
    item_with_a_date(&bench, "due").await;
    let_time_pass(&bench).await;
    let refuse = "create function refuse() returns trigger language plpgsql as \
                  $$begin raise exception 'no'; end$$; \
                  create trigger refuse before update on reminders for each row \
                  when (new.fire_at is null) execute function refuse()";
    bench.database.run(refuse).await;
    item_with_a_date(&bench, "later").await;

    let working = work_with_fast_retries(&bench);
    let of_later = hook.next().await;
    bench.database.run("drop trigger refuse on reminders").await;
    assert_ne!(
        hook.next().await.header("webhook-id"),
        of_later.header("webhook-id"),
        "the reminder fires then"
    );
    working.stop().await;
}

#[tokio::test]
async fn push_panic_counts_as_a_try() {
    let bench = Bench::new().await;
    let mut hook = Receiver::answering(&[]).await;
    subscribe(&bench, SubscriptionKind::Webhook, &hook.url).await;
    let working = work_with(bench.ledger.clone(), &Script::open(), Arc::new(PanickingRender), slots(1));
    bench.admit("c1").await;

    working.until_counted("listen_push_deliveries_total{outcome=\"retry\"} 1").await;

    working.stop().await;
    let query = "select status, tries, last_error from push_deliveries";
    let pushes: Vec<(String, i32, Option<String>)> =
        sqlx::query_as(query).fetch_all(&bench.database.pool(1).await).await.unwrap();
    assert_eq!(pushes, [("pending".to_owned(), 1, Some("unreadable".to_owned()))]);
    assert!(hook.has_no_more_requests());
}
