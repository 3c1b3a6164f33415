//! A database that falls silent on clients who then hang up: what they waited on is not waited for by others.

use std::{sync::Arc, time::Duration};

use ledger::Ledger;
use serde_json::json;
use testbed::{TestDatabase, Wall};
use tokio::task::JoinSet;

use crate::bench::{Bench, CONNECTIONS, P, few_connections, quick};

/// Longer than a client that leaves must have waited to be a sign of anything.
const A_WHILE: Duration = Duration::from_millis(1_100);

#[tokio::test]
async fn clients_that_hang_up_on_a_silent_database_leave_no_session_behind() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let ledger = Ledger::new(through, few_connections());
    let bench = Arc::new(Bench::over(database, ledger, quick()).await);
    let write = |bench: &Arc<Bench>| {
        let bench = Arc::clone(bench);
        async move { bench.post(&format!("{P}/memories"), json!({ "content": "x" })).await.status }
    };
    assert_eq!(write(&bench).await, 200);
    let held = bench.database.holding("lock table memories in access exclusive mode").await;
    let mut clients = JoinSet::new();
    (0..CONNECTIONS).for_each(|_| drop(clients.spawn(write(&bench))));
    bench.database.until_as_many_wait(CONNECTIONS).await;

    wall.silence_what_is_open();
    tokio::time::sleep(A_WHILE).await;
    clients.shutdown().await;
    drop(held);

    let again = async { while write(&bench).await != 200 {} };
    tokio::time::timeout(Duration::from_secs(10), again).await.expect("every session is new");
}
