//! Connections that die silently: what was open carries nothing any more, without any notice.

use std::time::Duration;

use db::Error;
use job::Queue;
use ledger::{Ledger, Settings};
use testbed::{TestDatabase, Wall};

use crate::world::wanted;

#[tokio::test]
async fn a_connection_that_falls_silent_costs_one_answer_and_not_the_process() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let ledger = Ledger::new(through, Settings { connections: 4, ..Settings::default() });
    let request = wanted(Queue::Creation, 1);
    let claim = async || ledger.db().in_time(ledger.claim(&request)).await;
    let look = async || ledger.store().key_owner(&[7; 32]).await;
    let (claims, seen) = tokio::join!(claim(), look());
    assert!(claims.unwrap().claims.is_empty() && seen.unwrap().is_none());

    wall.silence_what_is_open();
    let (claims, seen) = tokio::join!(claim(), look());
    for error in [claims.map(drop), seen.map(drop)].into_iter().filter_map(Result::err) {
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
    // Whatever is handed a silent session again is an error, after 15 seconds.
    assert!(claim().await.unwrap().claims.is_empty());
    assert!(look().await.unwrap().is_none());
    let again = (0..8).map(|_| ledger.db().in_time(ledger.db().now()));
    let again = futures::future::join_all(again).await;
    assert!(again.iter().all(Result::is_ok), "every session is new: {again:?}");
}

#[tokio::test]
async fn wake_ups_of_others_are_heard_again_after_their_connection_fell_silent() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let [ours, other] =
        [through, database.options()].map(|options| Ledger::new(options, Settings::default()));
    let carrying = [&ours, &other].map(|ledger| {
        let ledger = ledger.clone();
        tokio::spawn(async move { ledger.db().carry_wakes().await })
    });
    let heard = async || {
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
    heard().await.expect("it was listened for");
    // What was on its way is heard before the wall is up.
    while tokio::time::timeout(Duration::from_millis(200), ours.db().waker().jobs_waiting(Queue::Creation))
        .await
        .is_ok()
    {}

    wall.silence_what_is_open();

    heard().await.expect("a connection that says nothing is asked whether it lives");
    carrying.iter().for_each(tokio::task::JoinHandle::abort);
}
