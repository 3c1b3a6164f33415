//! Operations whose future is dropped, at each of its polls: a client disconnected, a timeout expired, a `select!`
//! chose another branch. No connection of the process stays in a transaction: the next operation on it would be
//! acknowledged and never committed.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use sqlx::Connection;
use store::ConversationFilter;

use crate::{
    CrashOperation, ENOUGH, accounts::Account, bulk_replays::BulkReplay, job_operations::JobOperation,
    keyed_requests::KeyedRequest, pushes::Push, user_objects::UserObject, world::World,
};

/// More polls than any operation needs.
const MOST_POLLS: usize = 4 * ENOUGH;

/// The server ends a session that idles in a transaction for five seconds, which would hide it.
const TIMEOUT: Duration = Duration::from_secs(4);

/// The name of the sessions of the process whose operations are dropped.
const DROPPED: &str = "dropped";

/// Drops `operation` after `polls` polls without an answer. Returns whether it was dropped.
async fn is_dropped_after(polls: usize, operation: impl Future) -> bool {
    let mut operation = pin!(operation);
    let mut left = polls;
    poll_fn(|context| match operation.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(false),
        Poll::Pending if left <= 1 => Poll::Ready(true),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Waits until every session of the process is idle.
async fn until_idle(world: &World, position: &str) {
    let busy = async || -> Vec<String> {
        sqlx::query_scalar(
            "select state || ': ' || left(query, 60) from pg_stat_activity \
             where datname = current_database() and application_name = $1 and state <> 'idle'",
        )
        .bind(DROPPED)
        .fetch_all(&world.pool)
        .await
        .unwrap()
    };
    let idle = async {
        while !busy().await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(TIMEOUT, idle).await.is_err() {
        panic!("{position}: not idle: {:?}", busy().await);
    }
}

/// Drops `operation` at its first poll, its second, and so on. Returns the number of polls after which it was dropped.
async fn drop_at_every_poll<O: CrashOperation>(operation: O) -> usize {
    let world = World::new().await;
    let options = world.database.options().application_name(DROPPED);
    let process = world.process(&options);
    process.db().now().await.unwrap();
    for polls in 1..MOST_POLLS {
        let setup = operation.prepare(&world, &format!("{operation:?}-{polls}")).await;
        let dropped = is_dropped_after(polls, operation.execute(&process, &setup)).await;
        until_idle(&world, &format!("{operation:?}, dropped after {polls} polls")).await;
        if !dropped {
            return polls - 1;
        }
    }
    panic!("{operation:?} never ends");
}

macro_rules! drops {
    ($($name:ident: $kind:ident { $($operation:ident),+ };)+) => {
        $(#[tokio::test]
        async fn $name() {
            let mut dropped = 0;
            for operation in [$($kind::$operation),+] {
                let points = drop_at_every_poll(operation).await;
                println!("{operation:?}: dropped at {points} polls");
                dropped += points;
            }
            assert!(dropped >= 2, "a server may answer one poll, and not all of them: {dropped}");
        })+
    };
}

drops! {
    dropped_admission_leaves_no_open_transaction: JobOperation { Create, Finalize, FinalizeWithKeys };
    dropped_claim_leaves_no_open_transaction: JobOperation { Claim, ClaimInTurn, ClaimRefused, Renew };
    dropped_run_leaves_no_open_transaction: JobOperation { Checkpoint, FailOnce, Complete };
    dropped_delivery_leaves_no_open_transaction: JobOperation { ClaimDelivery, FinishDelivery };
    dropped_reminder_leaves_no_open_transaction: Push { Claim, Deliver };
    dropped_request_leaves_no_open_transaction: UserObject { Rename, ChangeFolder, CreateItems, DeleteMemory };
    dropped_append_leaves_no_open_transaction: KeyedRequest { AppendWithKey, StoreAnswer };
    dropped_account_change_leaves_no_open_transaction: Account { RevokeKey, ChangeEndpoint };
    dropped_bulk_replay_leaves_no_open_transaction: BulkReplay { Start, Step };
}

#[tokio::test]
async fn dropped_read_leaves_no_open_transaction() {
    let world = World::new().await;
    let user = world.user("reader").await;
    let process = world.process(&world.database.options().application_name(DROPPED));
    let filter = ConversationFilter::default();
    for polls in 1.. {
        assert!(polls < MOST_POLLS, "a list never ends");
        let list = process.store().conversations(&user, &filter);
        let dropped = is_dropped_after(polls, list).await;
        until_idle(&world, &format!("a list, dropped after {polls} polls")).await;
        if !dropped {
            assert!(polls > 2, "it was dropped at {polls} polls");
            break;
        }
    }
}

/// The driver's behaviour that the operations above are protected from. When this test fails, the driver ends such
/// transactions itself, and a begin needs no task of its own (`pipeline/db/src/connect.rs`).
#[tokio::test]
async fn driver_loses_track_of_a_transaction_whose_begin_was_dropped() {
    let world = World::new().await;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1);
    let pool = pool.connect_with(world.database.options()).await.unwrap();
    // Repeated if the server answers within the poll.
    while !is_dropped_after(1, pool.acquire().await.unwrap().begin()).await {}
    sqlx::query("create table lost ()").execute(&pool).await.unwrap();
    pool.close().await;
    let is_there: bool =
        sqlx::query_scalar("select to_regclass('lost') is not null").fetch_one(&world.pool).await.unwrap();
    assert!(!is_there, "an acknowledged statement was committed: the driver ends the transaction itself");
}

/// A begin is awaited without its caller, but with a timeout. The connection of one that timed out may be in a
/// transaction.
#[tokio::test]
async fn suspect_connection_in_a_transaction_is_not_reused() {
    let world = World::new().await;
    let process = world.process(&world.database.options().application_name(DROPPED));
    process.db().now().await.unwrap();
    let mut session = process.db().pool().acquire().await.unwrap();
    sqlx::raw_sql("begin").execute(&mut *session).await.unwrap();
    process.db().suspect_connections();
    drop(session);
    until_idle(&world, "a suspect connection").await;
}
