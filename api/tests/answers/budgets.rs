//! Responses when a user's budget is used up.

use std::sync::Arc;

use axum::http::Method;
use ledger::Ledger;
use records::UserId;
use serde_json::{Value, json};
use store::{LimitsChange, UserChange};
use testbed::TestDatabase;

use crate::bench::{Bench, P, few_connections, quick};

async fn limit(bench: &Bench, limits: LimitsChange) {
    let change = UserChange { limits, ..UserChange::default() };
    bench.ledger.change_user(&UserId::new("ann"), &change).await.unwrap().unwrap();
}

fn text(words: &str) -> Value {
    json!({ "text": words })
}

fn deferred() -> Value {
    json!({ "defer_processing": true, "transcript_segments": [{ "text": "words", "start": 0.0, "end": 1.0 }] })
}

#[tokio::test]
async fn create_over_the_daily_conversation_budget_is_429_until_midnight() {
    let bench = Bench::new().await;
    limit(&bench, LimitsChange { conversations_per_day: Some(Some(1)), ..LimitsChange::default() }).await;
    let (one, two) = (format!("{P}/conversations"), format!("{P}/conversations/from-segments"));
    assert_eq!(bench.post(&one, text("words")).await.status, 200);
    for (path, body) in [(&one, text("words")), (&two, deferred())] {
        let answer = bench.post(path, body).await;
        assert_eq!(answer.status, 429);
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.starts_with("The daily limit of 1 conversations is reached"), "{detail}");
        assert!((1..=86_401).contains(&answer.header("retry-after").parse::<u64>().unwrap()));
    }
    let bob = bench.person("bob", api::Scope::ALL).await;
    assert_eq!(bench.ask(&bob, Method::POST, &one, Some(text("words"))).await.status, 200);
}

#[tokio::test]
async fn text_over_the_byte_budget_is_422_on_create_and_append() {
    let bench = Bench::new().await;
    limit(&bench, LimitsChange { bytes: Some(Some(30)), ..LimitsChange::default() }).await;
    let kept = bench.post(&format!("{P}/conversations/from-segments"), deferred()).await;
    assert_eq!(kept.status, 200);
    let segments = format!("{P}/conversations/{}/segments", kept.body["id"].as_str().unwrap());
    let more = json!({ "transcript_segments": [{ "text": "many more words than there is room for", "start": 1.0, "end": 2.0 }] });
    for (path, body) in
        [(format!("{P}/conversations"), text("more words than there is room for")), (segments, more)]
    {
        let answer = bench.post(&path, body).await;
        assert_eq!(answer.status, 422);
        assert_eq!(answer.kinds(), [("value_error", &json!(["body"]))]);
        assert!(answer.body.to_string().contains("storage limit of 30 bytes"), "{}", answer.body);
    }
}

#[tokio::test]
async fn waiting_job_limit_is_429_on_every_admission() {
    let bench = Bench::new().await;
    let (create, segments) = (format!("{P}/conversations"), format!("{P}/conversations/from-segments"));
    assert_eq!(bench.post(&create, text("words")).await.status, 200);
    let kept = bench.post(&segments, deferred()).await;
    limit(&bench, LimitsChange { waiting_jobs: Some(Some(1)), ..LimitsChange::default() }).await;
    let finalize = format!("/v1/conversations/{}/finalize", kept.body["id"].as_str().unwrap());
    for (path, body) in [(&create, text("words")), (&finalize, json!({}))] {
        let answer = bench.post(path, body).await;
        assert_eq!(answer.status, 429, "{path}");
        assert_eq!(answer.header("retry-after"), "30");
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.starts_with("The limit of 1 conversations being processed is reached"), "{detail}");
    }
    assert_eq!(bench.post(&segments, deferred()).await.status, 200, "what makes no job has room");
    assert_eq!(bench.complete_all(job::Queue::Creation).await, 1);
    assert_eq!(bench.post(&finalize, json!({})).await.status, 200);
}

#[tokio::test]
async fn budget_refusals_are_counted_without_user_ids() {
    let database = TestDatabase::new().await;
    let budgets = store::Budgets { conversations_per_day: 1, ..store::Budgets::default() };
    let ledger = Ledger::new(database.options(), ledger::Settings { budgets, ..few_connections() });
    let mut bench = Bench::over(database, ledger, quick()).await;
    let registry = prometheus::Registry::new();
    let metrics = api::Metrics::register(&registry).unwrap();
    bench.app = api::router(bench.ledger.clone(), Arc::new(|_| true), quick(), metrics);
    for expected in [200, 429, 429] {
        assert_eq!(bench.post(&format!("{P}/conversations"), text("words")).await.status, expected);
    }
    let counted =
        registry.gather().into_iter().find(|family| family.name() == "listen_budget_refusals_total").unwrap();
    let counts: Vec<_> = counted
        .get_metric()
        .iter()
        .map(|metric| (metric.get_label()[0].value().to_owned(), metric.get_counter().get_value()))
        .collect();
    let expected = [("bytes", 0.0), ("conversations-per-day", 2.0), ("waiting-jobs", 0.0)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
}
