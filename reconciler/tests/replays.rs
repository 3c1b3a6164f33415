//! Bulk replays: what a process that stops leaves behind, another one takes up at once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod house;

use std::time::Duration;

use house::House;
use ledger::{JobFilter, OperatorAction, ReplayOrder, Started};
use reconciler::work_off_replays;
use uuid::Uuid;

/// Nothing in these tests takes this long; it is shorter than a turn.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_process_that_stops_gives_its_replay_back_and_another_goes_on_at_once() {
    let house = House::new().await;
    for id in ["c1", "c2"] {
        house.queued(id).await;
    }
    house
        .sql(
            "update finalization_jobs set status = 'dead_letter', dead_code = 'internal', ready_at = null, \
             reconcile_after_at = null, finished_at = clock_timestamp(); \
             update conversations set status = 'failed'",
        )
        .await;
    let order = ReplayOrder {
        filter: JobFilter::default(),
        words: "all".to_owned(),
        from_scratch: false,
        per_minute: 1,
        in_flight: 10,
    };
    let olga = OperatorAction { operator: "olga".to_owned(), reason: "the model is back".to_owned() };
    let started = house.ledger.start_replay(Uuid::from_u128(7), &order, &olga).await.unwrap();
    assert!(matches!(started, Started::Running(_)));
    let working = work_off_replays(house.ledger.clone(), "first".to_owned(), house.stop.clone());
    let working = tokio::spawn(working);
    let replayed = async {
        while house.count("select count(*) from finalization_jobs where generation = 2").await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, replayed).await.unwrap();

    house.stop.cancel();

    // A minute is to pass before the second item.
    tokio::time::timeout(PATIENCE, working).await.unwrap().unwrap();
    assert!(house.ledger.take_replay("other").await.unwrap().is_some(), "its turn has not run out");
}
