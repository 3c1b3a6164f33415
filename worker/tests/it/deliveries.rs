//! Webhook deliveries: signatures, retries, and receivers that fail or are slow.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, http::StatusCode, routing::post};
use ledger::{NewActionItem, NewPersonMemory};
use outbox::DeliveryPolicy;
use records::{ActionItemId, EventKind, MemoryCategory, MemoryId, UserId, WebhookFormat};
use secrecy::ExposeSecret;
use standardwebhooks::Webhook;
use store::{AppFields, ConversationChange, NewApp, UserChange};
use tokio::net::TcpListener;
use worker::{Ended, Settings};

use crate::{
    bench::{Bench, PanickingRender, Working, slots, until, work, work_with},
    engines::Script,
    receiver::Receiver,
};

/// Retries at once, so that a test need not wait.
fn work_with_fast_retries(bench: &Bench) -> Working {
    let deliveries =
        DeliveryPolicy { schedule: vec![Duration::from_millis(1); 3], ..DeliveryPolicy::default() };
    work(bench.ledger.clone(), &Script::open(), Settings { deliveries, ..slots(1) })
}

#[tokio::test]
async fn completion_webhook_is_signed_and_retried_with_the_same_id() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[StatusCode::INTERNAL_SERVER_ERROR]).await;
    let secret = bench.endpoint("e1", &receiver.url).await;
    let mut working = work_with_fast_retries(&bench);
    bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);

    let (first, second) = (receiver.next().await, receiver.next().await);

    let verifier = Webhook::new(secret.expose_secret()).unwrap();
    for heard in [&first, &second] {
        verifier.verify(&heard.body, &heard.headers).unwrap();
        assert_eq!(heard.uri.query(), Some("uid=kim"));
        assert_eq!(heard.header("content-type"), "application/json");
        assert_eq!(heard.header("idempotency-key"), heard.header("webhook-id"));
    }
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.body, second.body);
    let body: serde_json::Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(body["type"], "conversation.completed");
    assert_eq!(body["data"]["title"], "A plan for Friday");

    let metrics = working.stop_and_count().await;
    let [delivery] = &bench.deliveries("e1").await[..] else { panic!("one delivery") };
    assert_eq!((delivery.status.as_str(), delivery.tries, delivery.last_status), ("delivered", 2, Some(204)));
    assert!(metrics.contains("listen_webhook_deliveries_total{outcome=\"delivered\"} 1"));
    assert!(metrics.contains("listen_webhook_deliveries_total{outcome=\"retry\"} 1"));
}

#[tokio::test]
async fn delivery_retry_sends_the_same_body() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::gated(&[StatusCode::INTERNAL_SERVER_ERROR]).await;
    bench.endpoint("e1", &receiver.url).await;
    let working = work_with_fast_retries(&bench);
    let (conversation, _) = bench.admit("c1").await;
    let first = receiver.next().await;
    let change = ConversationChange { title: Some("Changed".to_owned()), ..ConversationChange::default() };
    assert!(bench.ledger.store().change_conversation(&bench.user, &conversation, &change).await.unwrap());

    receiver.wake();

    assert_eq!(receiver.next().await.body, first.body);
    working.stop().await;
}

#[tokio::test]
async fn delivery_out_of_tries_is_counted_as_given_up() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[StatusCode::INTERNAL_SERVER_ERROR; 4]).await;
    bench.endpoint("e1", &receiver.url).await;
    bench.test_delivery("e1", "d1").await;
    let working = work_with_fast_retries(&bench);
    for _ in 0..4 {
        receiver.next().await;
    }
    let metrics = working.stop_and_count().await;
    assert!(metrics.contains("listen_webhook_deliveries_total{outcome=\"retry\"} 3"), "{metrics}");
    assert!(metrics.contains("listen_webhook_deliveries_total{outcome=\"final\"} 1"), "{metrics}");
}

#[tokio::test]
async fn delivery_whose_last_sender_died_is_counted_as_given_up() {
    let bench = Bench::new().await;
    bench.endpoint("e1", "http://127.0.0.1:9/").await;
    bench.test_delivery("e1", "d1").await;
    let policy = DeliveryPolicy::default();
    assert_eq!(bench.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed.len(), 1);
    let died = "update webhook_deliveries set tries = 11, sending_until = now() - interval '1 second'";
    bench.database.run(died).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    working.until_counted("listen_webhook_deliveries_total{outcome=\"final\"} 1").await;
    working.stop().await;
}

#[tokio::test]
async fn delivery_with_an_expired_claim_is_not_sent() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[]).await;
    bench.endpoint("e1", &receiver.url).await;
    bench.test_delivery("e1", "d1").await;
    let sending = Duration::from_micros(1);
    let deliveries = DeliveryPolicy { sending, schedule: Vec::new(), ..DeliveryPolicy::default() };
    let working = work(bench.ledger.clone(), &Script::open(), Settings { deliveries, ..slots(1) });
    working.until_counted("listen_webhook_deliveries_total{outcome=\"final\"} 1").await;
    let metrics = working.stop_and_count().await;
    assert!(metrics.contains("listen_webhook_deliveries_total{outcome=\"lost\"} 1"), "{metrics}");
    assert!(receiver.has_no_more_requests());
}

#[tokio::test]
async fn delivery_panic_counts_as_a_try() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[]).await;
    bench.endpoint("e1", &receiver.url).await;
    bench.test_delivery("e1", "d1").await;
    let working = work_with(bench.ledger.clone(), &Script::open(), Arc::new(PanickingRender), slots(1));

    working.until_counted("listen_webhook_deliveries_total{outcome=\"retry\"} 1").await;

    working.stop().await;
    let [delivery] = &bench.deliveries("e1").await[..] else { panic!("one delivery") };
    assert_eq!((delivery.status.as_str(), delivery.tries), ("pending", 1));
    assert_eq!(delivery.last_error.as_deref(), Some("unreadable"));
    assert!(receiver.has_no_more_requests());
}

#[tokio::test]
async fn endpoint_answering_410_is_disabled() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[StatusCode::GONE]).await;
    bench.endpoint("e1", &receiver.url).await;
    let working = work_with_fast_retries(&bench);
    bench.test_delivery("e1", "d1").await;

    receiver.next().await;
    working.stop().await;

    let endpoint = bench.ledger.outbox().endpoint(&bench.user, "e1").await.unwrap().unwrap();
    assert!(!endpoint.enabled);
    assert_eq!(endpoint.disabled_reason.as_deref(), Some("gone"));
}

#[tokio::test]
async fn dead_endpoint_does_not_delay_others() {
    let bench = Bench::new().await;
    let mut dead = Receiver::silent().await;
    let mut alive = Receiver::answering(&[]).await;
    bench.endpoint("dead", &dead.url).await;
    bench.endpoint("alive", &alive.url).await;
    for number in 0..20 {
        bench.test_delivery("dead", &format!("dead-{number}")).await;
    }
    let working = work_with_fast_retries(&bench);
    dead.next().await;
    for number in 0..20 {
        bench.test_delivery("alive", &format!("alive-{number}")).await;
    }

    // The dead one has answered nothing yet.
    for _ in 0..20 {
        alive.next().await;
    }
    dead.wake();
    working.stop().await;
}

#[tokio::test]
async fn silent_endpoints_do_not_starve_a_healthy_one() {
    let bench = Bench::new().await;
    let mut silent = Receiver::silent().await;
    let mut alive = Receiver::answering(&[]).await;
    for dead in ["dead-1", "dead-2", "dead-3", "dead-4"] {
        bench.endpoint(dead, &silent.url).await;
        for number in 0..6 {
            bench.test_delivery(dead, &format!("{dead}-{number}")).await;
        }
    }
    bench.endpoint("alive", &alive.url).await;
    let working = work_with_fast_retries(&bench);
    // All slots of the process are theirs.
    for _ in 0..16 {
        silent.next().await;
    }
    bench.test_delivery("alive", "alive-0").await;

    assert_eq!(alive.next().await.header("webhook-id"), "alive-0");
    assert!(silent.has_no_more_requests(), "their tries have ended: it was told behind them");
    silent.wake();
    working.stop().await;
}

#[tokio::test]
async fn thin_delivery_reads_no_user_data() {
    let bench = Bench::new().await;
    let events = [EventKind::MemoryCreated, EventKind::ActionItemCreated];
    let mut heard = Vec::new();
    for (id, format) in [("full", WebhookFormat::Full), ("thin", WebhookFormat::Thin)] {
        let receiver = Receiver::answering(&[]).await;
        bench.endpoint_of(id, &receiver.url, &events, format).await;
        heard.push(receiver);
    }
    let (item, memory) = (call_tom(), likes_tea());
    bench.ledger.create_action_items(&bench.user, &[item]).await.unwrap();
    bench.ledger.create_memories(&bench.user, &[memory]).await.unwrap();
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    for (receiver, is_shown) in heard.iter_mut().zip([true, false]) {
        for _ in 0..2 {
            let body: serde_json::Value = serde_json::from_slice(&receiver.next().await.body).unwrap();
            let said = |text: &str| if is_shown { text.into() } else { serde_json::Value::Null };
            let (item, memory) = match body["type"].as_str().unwrap() {
                "action_item.created" => (said("Call Tom"), serde_json::Value::Null),
                _ => (serde_json::Value::Null, said("Likes tea")),
            };
            assert_eq!((&body["data"]["item"], &body["data"]["memory"]), (&item, &memory), "{body}");
        }
    }
    working.stop().await;
}

fn call_tom() -> NewActionItem {
    let (id, description) = (ActionItemId::new("i"), "Call Tom".to_owned());
    NewActionItem { id, description, completed: false, due_at: None }
}

fn likes_tea() -> NewPersonMemory {
    NewPersonMemory {
        id: MemoryId::new("m"),
        content: "Likes tea".to_owned(),
        category: MemoryCategory::Other,
        public: false,
        tags: Vec::new(),
    }
}

#[tokio::test]
async fn delivery_about_a_deleted_record_is_not_sent() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[]).await;
    bench.endpoint("e1", &receiver.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    let orphan = "insert into webhook_deliveries \
                  (user_id, endpoint_id, delivery_id, event, conversation_id, status, next_at, occurred_at) \
                  values ('kim', 'e1', 'd1', 'conversation.completed', 'gone', 'pending', now(), now())";
    bench.database.run(orphan).await;
    bench.test_delivery("e1", "d2").await;

    let heard = receiver.next().await;
    assert_eq!(heard.header("webhook-id"), "d2");
    working.stop().await;
    let told = bench.deliveries("e1").await;
    let cancelled = told.iter().find(|delivery| delivery.id == "d1").unwrap();
    assert_eq!(cancelled.status, "cancelled");
}

#[tokio::test]
async fn disabled_apps_get_no_deliveries_and_user_webhooks_do() {
    let bench = Bench::new().await;
    let (mut own, mut of_app) = (Receiver::answering(&[]).await, Receiver::answering(&[]).await);
    bench.endpoint("e1", &own.url).await;
    let app = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";
    let fields =
        AppFields { name: "Fake".to_owned(), webhook_url: Some(of_app.url.clone()), ..AppFields::default() };
    let secret = outside::new_secret([7; 32]);
    let new = NewApp { id: app.to_owned(), fields, mcp_token: None, manifest: None, secret };
    bench.ledger.store().create_app(&bench.user, &new).await.unwrap().unwrap();
    bench.ledger.store().install_app(&bench.user, app).await.unwrap().unwrap();
    let statuses = async || {
        let endpoints = bench.ledger.outbox().endpoints(&bench.user).await.unwrap();
        let endpoint = endpoints.into_iter().find(|endpoint| endpoint.id != "e1").unwrap();
        bench.deliveries(&endpoint.id).await.into_iter().map(|delivery| delivery.status).collect::<Vec<_>>()
    };

    let mut off = work(bench.ledger.clone(), &Script::open(), Settings { apps: false, ..slots(1) });
    bench.admit("c1").await;
    assert_eq!(off.until_ended().await.1, Ended::Completed);
    own.next().await;
    off.until_counted("listen_webhook_deliveries_total{outcome=\"cancelled\"} 1").await;
    off.stop().await;
    assert_eq!(statuses().await, ["cancelled"]);

    let mut on = work(bench.ledger.clone(), &Script::open(), slots(1));
    bench.admit("c2").await;
    assert_eq!(on.until_ended().await.1, Ended::Completed);
    of_app.next().await;
    on.stop().await;
    assert_eq!(statuses().await, ["delivered", "cancelled"], "what was cancelled is not sent later");
}

/// The URL of a receiver that answers 200, after a while.
async fn answering_after(wait: Duration) -> String {
    let answer = move || async move {
        tokio::time::sleep(wait).await;
        StatusCode::OK
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(answer))).await });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_receivers_of_four_users_do_not_delay_another() {
    let mut bench = Bench::new().await;
    let url = answering_after(Duration::from_secs(10)).await;
    let kim = bench.user.clone();
    for user in ["a", "b", "c", "d"] {
        bench.user = UserId::new(user);
        assert!(bench.ledger.store().create_user(&bench.user, &UserChange::default()).await.unwrap());
        for number in 0..20 {
            let id = format!("{user}{number}");
            bench.endpoint(&id, &url).await;
            for delivery in 0..8 {
                bench.test_delivery(&id, &format!("{id}-{delivery}")).await;
            }
        }
    }
    let mut alive = Receiver::answering(&[]).await;
    bench.user = kim;
    bench.endpoint("alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));

    // Beyond the first answers of the slow ones: what waits behind them must not take all that is free then either.
    let mut longest = Duration::ZERO;
    for number in 0..24 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let written = Instant::now();
        let id = format!("alive-{number}");
        bench.test_delivery("alive", &id).await;
        assert_eq!(alive.next().await.header("webhook-id"), id);
        longest = longest.max(written.elapsed());
    }
    println!("the longest took {longest:?}");
    // Behind the slow ones it would take ten seconds.
    assert!(longest < Duration::from_secs(6), "{longest:?}");
    working.hard.cancel();
}

/// More users than there are slots, each with a backlog for a receiver that answers before its tries grow old.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backlogs_of_more_users_than_slots_do_not_delay_another() {
    let mut bench = Bench::new().await;
    let url = answering_after(Duration::from_millis(300)).await;
    let kim = bench.user.clone();
    for number in 0..20 {
        bench.user = UserId::new(format!("user {number}"));
        assert!(bench.ledger.store().create_user(&bench.user, &UserChange::default()).await.unwrap());
        bench.endpoint("slow", &url).await;
    }
    let backlog = "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
        select user_id, endpoint_id, n, 'webhook.test', 'pending', now(), now() \
        from webhook_endpoints, generate_series(1, 60) n";
    bench.database.run(backlog).await;
    let mut alive = Receiver::answering(&[]).await;
    bench.user = kim;
    bench.endpoint("alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    let none = "listen_webhook_deliveries_total{outcome=\"delivered\"} 0\n";
    until(|| !working.metrics().contains(none), "nothing is delivered").await;
    let pool = bench.database.pool(1).await;
    let slow = async || -> i64 {
        let delivered =
            "select count(*) from webhook_deliveries where endpoint_id = 'slow' and status = 'delivered'";
        sqlx::query_scalar(delivered).fetch_one(&pool).await.unwrap()
    };
    // Behind the backlogs there would be next to all 1,200 before it. How long it takes is up to the machine.
    for number in 0..3 {
        let (before, id) = (slow().await, format!("alive {number}"));
        bench.test_delivery("alive", &id).await;
        assert_eq!(alive.next().await.header("webhook-id"), id);
        let meanwhile = slow().await - before;
        assert!(meanwhile < 600, "{meanwhile} before {id}");
    }
    working.hard.cancel();
}

/// More users than a process has tries under way, each with one receiver that says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_receivers_of_hundreds_of_users_do_not_delay_another() {
    let mut bench = Bench::new().await;
    let (mut silent, mut alive) = (Receiver::silent().await, Receiver::answering(&[]).await);
    let kim = bench.user.clone();
    for number in 0..280 {
        bench.user = UserId::new(format!("user {number}"));
        assert!(bench.ledger.store().create_user(&bench.user, &UserChange::default()).await.unwrap());
        bench.endpoint("silent", &silent.url).await;
        bench.test_delivery("silent", &format!("silent {number}")).await;
    }
    bench.user = kim;
    bench.endpoint("alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    for _ in 0..250 {
        silent.next().await;
    }
    // No try has been waited for in vain yet: each may take 15 seconds.
    for number in 0..3 {
        let (written, id) = (Instant::now(), format!("alive {number}"));
        bench.test_delivery("alive", &id).await;
        assert_eq!(alive.next().await.header("webhook-id"), id);
        assert!(written.elapsed() < Duration::from_secs(8), "{:?}", written.elapsed());
    }
    working.hard.cancel();
}
