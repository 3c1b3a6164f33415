//! Connections that fail silently: open ones carry nothing any more, and neither side is notified.

use std::time::Duration;

use db::Error;
use job::Queue;
use ledger::{Ledger, Settings};
use testbed::{TestDatabase, Wall};

use crate::world::wanted;

#[tokio::test]
async fn silent_connections_fail_one_operation_and_are_replaced() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let ledger = Ledger::new(through, Settings { connections: 4, ..Settings::default() });
    let request = wanted(Queue::Creation, 1);
    let claim = async || ledger.db().in_time(ledger.claim(&request)).await;
    let lookup = async || ledger.store().key_owner(&[7; 32]).await;
    let (claims, seen) = tokio::join!(claim(), lookup());
    assert!(claims.unwrap().claims.is_empty() && seen.unwrap().is_none());

    wall.silence_what_is_open();
    let (claims, seen) = tokio::join!(claim(), lookup());
    for error in [claims.map(drop), seen.map(drop)].into_iter().filter_map(Result::err) {
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
    // An operation that gets another silent connection fails, after 15 seconds.
    assert!(claim().await.unwrap().claims.is_empty());
    assert!(lookup().await.unwrap().is_none());
    let again = (0..8).map(|_| ledger.db().in_time(ledger.db().now()));
    let again = futures::future::join_all(again).await;
    assert!(again.iter().all(Result::is_ok), "every session is new: {again:?}");
}

#[tokio::test]
async fn wakeups_are_received_again_after_a_silent_connection() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let [ours, other] =
        [through, database.options()].map(|options| Ledger::new(options, Settings::default()));
    let carrying = [&ours, &other].map(|ledger| {
        let ledger = ledger.clone();
        tokio::spawn(async move { ledger.db().carry_wakes().await })
    });
    let received = async || {
        let waker = ours.db().waker();
        let queued = async {
            loop {
                other.db().waker().job_queued(Queue::Creation);
                if tokio::time::timeout(Duration::from_millis(200), waker.jobs_waiting(Queue::Creation))
                    .await
                    .is_ok()
                {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(25), queued).await
    };
    received().await.expect("the wake-up arrives");
    // Consumes the wake-ups that are already on their way.
    while tokio::time::timeout(Duration::from_millis(200), ours.db().waker().jobs_waiting(Queue::Creation))
        .await
        .is_ok()
    {}

    wall.silence_what_is_open();

    received().await.expect("a silent connection is detected and replaced");
    carrying.iter().for_each(tokio::task::JoinHandle::abort);
}
