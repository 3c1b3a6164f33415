//! Runs and deliveries whose commit succeeds while its answer is lost or late.

use std::{sync::atomic::Ordering, time::Duration};

use axum::http::StatusCode;
use chrono::TimeDelta;
use job::{FailureCode, Outcome, State};
use ledger::{Ledger, NewActionItem};
use outbox::{NewSubscription, SubscriptionKind};
use records::ActionItemId;
use stages::Failure;
use worker::{Ended, Settings};

use crate::{
    bench::{Bench, PATIENCE, Working, slots, work},
    connection::{Answer, Connection},
    engines::Script,
    receiver::Receiver,
};

/// A worker that reaches the database over a connection of its own and renews its leases all the time.
fn worker_on_a_controlled_connection(
    bench: &Bench,
    script: &std::sync::Arc<Script>,
    answer: Answer,
) -> (Connection, Working) {
    let connection = Connection::new(bench.database.options(), answer);
    let ledger = Ledger::new(connection.options.clone(), ledger::Settings::default());
    let settings = Settings { heartbeat: Duration::from_millis(5), ..slots(1) };
    let working = work(ledger, script, settings);
    (connection, working)
}

async fn is_done_once(bench: &Bench, id: &job::JobId) {
    let job = bench.job(id).await.stored.job;
    assert_eq!(job.state, State::Completed { outcome: Outcome::Kept });
    assert_eq!((job.epoch, job.attempts, job.crashes), (job::Epoch(1), 0, 0));
    let pool = bench.database.pool(1).await;
    let items: i64 = sqlx::query_scalar("select count(*) from action_items").fetch_one(&pool).await.unwrap();
    assert_eq!(items, 1);
}

#[tokio::test]
async fn completion_with_a_lost_answer_is_a_completion() {
    let bench = Bench::new().await;
    let script = Script::open();
    let (connection, mut working) = worker_on_a_controlled_connection(&bench, &script, Answer::Cut);
    let (_, job) = bench.admit("c1").await;

    connection.committed().await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);

    is_done_once(&bench, &job).await;
    assert_eq!(script.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn heartbeat_during_the_runs_completion_does_not_end_it() {
    let bench = Bench::new().await;
    let (connection, mut working) = worker_on_a_controlled_connection(&bench, &Script::open(), Answer::Held);
    let (_, job) = bench.admit("c1").await;

    connection.committed().await;
    // Two, as one may have been on its way: the second has read the completed row.
    connection.renewals(2).await;
    connection.let_go();

    assert_eq!(working.until_ended().await.1, Ended::Completed);
    is_done_once(&bench, &job).await;
}

#[tokio::test]
async fn run_end_is_reported_correctly_despite_its_own_heartbeat() {
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(100));
    let failed = Failure::from(FailureCode::ModelTimeout);
    for (failure, ended) in [(open, "released"), (failed, "failed")] {
        let bench = Bench::new().await;
        let script = Script::failing(failure);
        let (connection, mut working) = worker_on_a_controlled_connection(&bench, &script, Answer::Held);
        let (_, job) = bench.admit("c1").await;

        connection.committed().await;
        // The answer is held: a heartbeat tells of a lost lease, and the ledger is asked once more.
        assert_eq!(working.until_ended().await.1.as_str(), ended);
        connection.let_go();
        assert!(matches!(bench.job(&job).await.job.state, State::Queued { .. }));
    }
}

/// The ends of tries of a kind, until one is counted.
async fn counted(working: &Working, series: &str) -> Vec<String> {
    let until_counted = async {
        loop {
            let metrics = working.metrics();
            let counts = metrics.lines().filter(|line| line.starts_with(series) && !line.ends_with(" 0"));
            let counts: Vec<String> = counts.map(str::to_owned).collect();
            if !counts.is_empty() {
                return counts;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, until_counted).await.expect("nobody counts it")
}

#[tokio::test]
async fn delivery_end_with_a_lost_answer_is_not_lost() {
    let bench = Bench::new().await;
    let mut receiver = Receiver::answering(&[]).await;
    bench.endpoint("e1", &receiver.url).await;
    let (connection, working) = worker_on_a_controlled_connection(&bench, &Script::open(), Answer::Cut);
    bench.test_delivery("e1", "d1").await;

    receiver.next().await;
    connection.committed().await;

    let told = counted(&working, "listen_webhook_deliveries_total").await;
    assert_eq!(told, ["listen_webhook_deliveries_total{outcome=\"delivered\"} 1"]);
    assert!(receiver.has_no_more_requests());
    working.stop().await;
}

#[tokio::test]
async fn push_end_with_a_lost_answer_is_not_lost() {
    for (status, outcome) in [(StatusCode::NO_CONTENT, "delivered"), (StatusCode::GONE, "gone")] {
        let bench = Bench::new().await;
        let mut receiver = Receiver::answering(&[status]).await;
        let new = NewSubscription { kind: SubscriptionKind::Webhook, url: receiver.url.clone() };
        bench.ledger.outbox().subscribe(&bench.user, &new).await.unwrap().unwrap();
        let (connection, working) = worker_on_a_controlled_connection(&bench, &Script::open(), Answer::Cut);
        let item = NewActionItem {
            id: ActionItemId::new("a1"),
            description: "Buy stamps".to_owned(),
            completed: false,
            due_at: Some(bench.ledger.db().now().await.unwrap() + TimeDelta::hours(1)),
        };
        bench.ledger.create_action_items(&bench.user, &[item]).await.unwrap();

        receiver.next().await;
        connection.committed().await;

        let told = counted(&working, "listen_push_deliveries_total").await;
        assert_eq!(told, [format!("listen_push_deliveries_total{{outcome=\"{outcome}\"}} 1")]);
        assert!(receiver.has_no_more_requests());
        working.stop().await;
    }
}
