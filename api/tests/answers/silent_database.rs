//! A database that falls silent: its sessions are closed, although the clients that waited for them have hung up.

use std::{sync::Arc, time::Duration};

use api::Settings;
use axum::{body::Body, http::Request};
use ledger::Ledger;
use serde_json::json;
use testbed::{TestDatabase, Wall};
use tokio::task::JoinSet;

use crate::bench::{Bench, CONNECTIONS, P, few_connections, quick};

/// Long enough for idle sessions to be asked whether they are alive before they are used.
const A_WHILE: Duration = Duration::from_millis(1_100);

#[tokio::test]
async fn hang_ups_on_a_silent_database_leave_no_session_behind() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let ledger = Ledger::new(through, few_connections());
    let impatient = Settings { database_wait: Duration::from_secs(3), ..quick() };
    let bench = Arc::new(Bench::over(database, ledger, impatient).await);
    let write = |bench: &Arc<Bench>| {
        let bench = Arc::clone(bench);
        async move { bench.post(&format!("{P}/memories"), json!({ "content": "x" })).await.status }
    };
    assert_eq!(write(&bench).await, 200);
    let held = bench.database.hold_locks("lock table memories in access exclusive mode").await;
    let mut clients = JoinSet::new();
    // The server itself ends what waits for a lock: then once more, until all wait at the same moment.
    for _ in 0..CONNECTIONS {
        let bench = Arc::clone(&bench);
        clients.spawn(async move { while write(&bench).await != 200 {} });
    }
    bench.database.until_as_many_wait(CONNECTIONS).await;

    wall.silence_what_is_open();
    clients.shutdown().await;
    tokio::time::sleep(A_WHILE).await;
    drop(held);

    let again = async { while write(&bench).await != 200 {} };
    tokio::time::timeout(Duration::from_secs(15), again).await.expect("every session is new");
}

#[tokio::test]
async fn stored_conversation_is_answered_although_its_place_cannot_be_noted() {
    let database = TestDatabase::new().await;
    let (wall, through) = Wall::between(&database.options());
    let ledger = Ledger::new(through, few_connections());
    let impatient = Settings { database_wait: Duration::from_secs(4), ..quick() };
    let bench = Arc::new(Bench::over(database, ledger, impatient).await);
    let held = bench.database.hold_locks("lock table user_locations in access exclusive mode").await;
    let client = {
        let bench = Arc::clone(&bench);
        let place = json!({ "latitude": 1, "longitude": 2 });
        let new = json!({ "text": "We met at the office today", "geolocation": place });
        tokio::spawn(async move { bench.post(&format!("{P}/conversations"), new).await.status })
    };
    bench.database.until_somebody_waits().await;

    wall.silence_what_is_open();

    assert_eq!(client.await.unwrap(), 200);
    drop(held);
}

/// Records the sessions of the service; `NONE_NEW` fails if there are new ones since.
const SEEN: &str = "create table seen as select pid, backend_start from pg_stat_activity \
    where datname = current_database() and application_name = 'service'";
const NONE_NEW: &str = "do $$ begin assert not exists (select pid, backend_start from pg_stat_activity \
    where datname = current_database() and application_name = 'service' except select * from seen), \
    'a session was opened'; end $$";

#[tokio::test]
async fn broken_off_request_body_holds_no_database_session() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.options().application_name("service"), few_connections());
    let bench = Arc::new(Bench::over(database, ledger, quick()).await);
    let write = async || bench.post(&format!("{P}/memories"), json!({ "content": "x" })).await.status;
    assert_eq!(write().await, 200);
    bench.database.run(SEEN).await;
    let broken = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            let silent = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
            let request = Request::post(format!("{P}/memories"))
                .header("authorization", format!("Bearer {}", bench.key))
                .header("content-type", "application/json");
            bench.send(request.body(silent).unwrap()).await
        })
    };
    tokio::time::sleep(A_WHILE).await;
    broken.abort();
    assert!(broken.await.is_err_and(|ended| ended.is_cancelled()));
    assert_eq!(write().await, 200);
    bench.database.run(NONE_NEW).await;
}
