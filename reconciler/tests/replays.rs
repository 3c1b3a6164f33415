//! Bulk replays: another process continues after a shutdown, and outcomes of jobs are recorded also after the replay ended.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod setup;

use std::time::Duration;

use ledger::OperatorAction;
use operations::{JobFilter, Operations, ReplayChange, ReplayOrder, Stepped};
use reconciler::work_off_replays;
use setup::Setup;
use uuid::Uuid;

/// Nothing in these tests takes this long.
const PATIENCE: Duration = Duration::from_secs(60);
const OPERATION: Uuid = Uuid::from_u128(7);

/// A replay of two dead letters, one a minute, and the operator that started it.
async fn of_two() -> (Setup, OperatorAction) {
    let setup = Setup::new().await;
    for id in ["c1", "c2"] {
        setup.queued(id).await;
    }
    setup
        .sql(
            "update finalization_jobs set status = 'dead_letter', dead_code = 'internal', ready_at = null, \
             reconcile_after_at = null, finished_at = clock_timestamp(); \
             update conversations set status = 'failed'",
        )
        .await;
    let olga = OperatorAction::new("olga", "the model is back");
    start(&setup, OPERATION, &olga).await;
    (setup, olga)
}

async fn start(setup: &Setup, id: Uuid, action: &OperatorAction) {
    let order = ReplayOrder {
        filter: JobFilter::default(),
        words: "all".to_owned(),
        from_scratch: false,
        per_minute: 1,
        in_flight: 10,
    };
    let started = Operations::new(&setup.ledger).start_replay(id, &order, action).await.unwrap();
    assert!(started.is_some());
}

#[tokio::test]
async fn shutdown_leaves_a_bulk_replay_to_other_processes() {
    let (setup, _) = of_two().await;
    let working = work_off_replays(Operations::new(&setup.ledger), "first".to_owned(), setup.stop.clone());
    let working = tokio::spawn(working);
    let replayed = async {
        while setup.count("select count(*) from finalization_jobs where generation = 2").await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, replayed).await.unwrap();

    setup.stop.cancel();

    // A minute is to pass before the second item.
    tokio::time::timeout(PATIENCE, working).await.unwrap().unwrap();
    let other = Operations::new(&setup.ledger);
    assert_eq!(other.step_replay(&OPERATION.to_string(), "other").await.unwrap(), Stepped::Waits);
}

#[tokio::test]
async fn cancelled_bulk_replay_follows_its_jobs_until_they_end() {
    let (setup, olga) = of_two().await;
    let id = OPERATION.to_string();
    assert_eq!(Operations::new(&setup.ledger).step_replay(&id, "gone").await.unwrap(), Stepped::Replayed);
    Operations::new(&setup.ledger).change_replay(&id, ReplayChange::Cancel, &olga).await.unwrap();
    setup
        .sql(
            "update finalization_jobs set status = 'completed', outcome = 'kept', ready_at = null, \
        reconcile_after_at = null, finished_at = clock_timestamp() where status = 'queued'",
        )
        .await;
    let working = work_off_replays(Operations::new(&setup.ledger), "next".to_owned(), setup.stop.clone());
    let working = tokio::spawn(working);
    let noted = async {
        while Operations::new(&setup.ledger).replay_operation(&id).await.unwrap().unwrap().completed == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.unwrap();
    setup.stop.cancel();
    tokio::time::timeout(PATIENCE, working).await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_bulk_replay_blocks_no_other() {
    let (setup, olga) = of_two().await;
    start(&setup, Uuid::from_u128(8), &olga).await;
    let working = work_off_replays(Operations::new(&setup.ledger), "one".to_owned(), setup.stop.clone());
    let working = tokio::spawn(working);
    // A minute is to pass before the second item of either: both are on their way before.
    let both = "select count(*) from replay_operations where replayed + refused > 0";
    let begun = async {
        while setup.count(both).await < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.unwrap();
    setup.stop.cancel();
    tokio::time::timeout(PATIENCE, working).await.unwrap().unwrap();
}

/// A process whose step panicked made no step of any replay until it was started anew.
#[tokio::test]
async fn bulk_replay_whose_step_panics_blocks_no_other() {
    let (setup, olga) = of_two().await;
    start(&setup, Uuid::from_u128(8), &olga).await;
    // No moment that the driver can express.
    let broken = "update replay_operations set next_at = 'infinity' where operation_id like '%7'";
    setup.sql(broken).await;
    let working = work_off_replays(Operations::new(&setup.ledger), "one".to_owned(), setup.stop.clone());
    let working = tokio::spawn(working);
    let other = "select count(*) from replay_operations where operation_id like '%8' and replayed > 0";
    let begun = async {
        while setup.count(other).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.unwrap();
    setup.stop.cancel();
    tokio::time::timeout(PATIENCE, working).await.unwrap().unwrap();
}
