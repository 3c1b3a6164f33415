//! Reminders: pushes for due dates that a user sets, changes, clears and completes.

use axum::http::Method;
use outbox::{ClaimedPush, DeliveryOutcome, PushPolicy, Pushed};
use serde_json::{Value, json};

use crate::bench::{Bench, P};

async fn subscribed() -> Bench {
    let bench = Bench::new().await;
    let hook = json!({ "kind": "webhook", "url": "https://example.org/push" });
    assert_eq!(bench.post("/v1/users/me/push-subscriptions", hook).await.status, 200);
    bench
}

async fn create(bench: &Bench, body: Value) -> String {
    let made = bench.post(&format!("{P}/action-items"), body).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.body["id"].as_str().unwrap().to_owned()
}

async fn patch(bench: &Bench, id: &str, body: Value) {
    let changed = bench.ask(&bench.key, Method::PATCH, &format!("{P}/action-items/{id}"), Some(body)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
}

/// The pushes that are due now, as (text, time); marks them as sent.
async fn sent(bench: &Bench) -> Vec<(String, String)> {
    let policy = PushPolicy { per_subscription: 100, ..PushPolicy::default() };
    let pushes = bench.ledger.outbox().claim_pushes(100, &policy, None).await.unwrap().claimed;
    for push in &pushes {
        let delivered = DeliveryOutcome::Delivered { status: 201 };
        assert!(bench.ledger.outbox().finish_push(push, delivered, &policy).await.unwrap());
    }
    let reminder = |push: &ClaimedPush| match &push.pushed {
        Pushed::Reminder { description, due_at, .. } => (description.clone(), api::shapes::moment(*due_at)),
        Pushed::Message { .. } => panic!("no app writes here"),
    };
    pushes.iter().map(reminder).collect()
}

/// Whole days until the next push is due.
async fn days_ahead(bench: &Bench) -> Option<u64> {
    bench
        .ledger
        .outbox()
        .next_push_in(&PushPolicy::default())
        .await
        .unwrap()
        .map(|wait| wait.as_secs() / 86_400)
}

fn dated(due_at: &str) -> Value {
    json!({ "description": "Call the dentist", "due_at": due_at })
}

fn reminder(due_at: &str) -> Vec<(String, String)> {
    vec![("Call the dentist".to_owned(), due_at.to_owned())]
}

#[tokio::test]
async fn reminder_is_pushed_when_a_due_date_is_set_and_changed() {
    let bench = subscribed().await;
    let id = create(&bench, dated("2090-01-01T09:00:00+01:00")).await;
    assert_eq!(sent(&bench).await, reminder("2090-01-01T08:00:00Z"));
    assert!(days_ahead(&bench).await > Some(10_000), "and once more when it comes");
    patch(&bench, &id, json!({ "due_at": "2090-01-01T08:00:00Z" })).await;
    patch(&bench, &id, json!({ "completed": false })).await;
    assert_eq!(sent(&bench).await, [], "the same date is no change");
    for due_at in ["2091-01-01T08:00:00Z", "2090-01-01T08:00:00Z"] {
        patch(&bench, &id, json!({ "due_at": due_at })).await;
        assert_eq!(sent(&bench).await, reminder(due_at), "also back to a date that was announced before");
    }
}

#[tokio::test]
async fn reminder_is_pushed_for_the_last_of_two_changes_only() {
    let bench = subscribed().await;
    let id = create(&bench, dated("2090-01-01T08:00:00Z")).await;
    patch(&bench, &id, json!({ "due_at": "2091-01-01T08:00:00Z" })).await;
    assert_eq!(sent(&bench).await, reminder("2091-01-01T08:00:00Z"));
}

#[tokio::test]
async fn reminder_is_cancelled_by_completing_clearing_and_deleting() {
    let changed_too = json!({ "completed": true, "due_at": "2091-01-01T08:00:00Z" });
    for body in [json!({ "completed": true }), changed_too, json!({ "due_at": null }), Value::Null] {
        let bench = subscribed().await;
        let id = create(&bench, dated("2090-01-01T08:00:00Z")).await;
        if body.is_null() {
            let path = format!("{P}/action-items/{id}");
            assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.status, 200);
        } else {
            patch(&bench, &id, body.clone()).await;
        }
        assert_eq!(bench.ledger.outbox().next_push_in(&PushPolicy::default()).await.unwrap(), None, "{body}");
        assert_eq!(sent(&bench).await, []);
    }
}

#[tokio::test]
async fn reminder_of_a_reopened_item_is_pushed_at_its_due_date() {
    let bench = subscribed().await;
    let id = create(&bench, dated("2090-01-01T08:00:00Z")).await;
    sent(&bench).await;
    patch(&bench, &id, json!({ "completed": true })).await;
    assert_eq!(days_ahead(&bench).await, None);
    patch(&bench, &id, json!({ "completed": false })).await;
    assert_eq!(sent(&bench).await, []);
    assert!(days_ahead(&bench).await > Some(10_000));
    patch(&bench, &id, json!({ "completed": true })).await;
    patch(&bench, &id, json!({ "completed": false, "due_at": "2091-01-01T08:00:00Z" })).await;
    assert_eq!(sent(&bench).await, reminder("2091-01-01T08:00:00Z"), "with another date it is told at once");
}

#[tokio::test]
async fn reminder_is_pushed_for_each_dated_item_of_a_batch() {
    let bench = subscribed().await;
    let items = json!([
        dated("2090-01-01T08:00:00Z"),
        { "description": "Some day" },
        { "description": "Done", "completed": true, "due_at": "2090-01-01T08:00:00Z" },
        dated("2091-01-01T08:00:00Z"),
    ]);
    let made = bench.post(&format!("{P}/action-items/batch"), json!({ "action_items": items })).await;
    assert_eq!(made.status, 200, "{made:?}");
    let mut pushes = sent(&bench).await;
    pushes.sort();
    assert_eq!(pushes, [reminder("2090-01-01T08:00:00Z"), reminder("2091-01-01T08:00:00Z")].concat());
}
