//! Operations that are dropped in the middle, at each of their polls: a client hung up, a time limit passed, a `select!` went
//! the other way. Whatever was on its way to the server then, no session of the process stays in a transaction: the next
//! operation on it would be acknowledged and never committed.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use sqlx::Connection;
use store::ConversationFilter;

use crate::{
    ENOUGH, Said, bulks::Bulk, objects::Thing, owned::Owned, pushes::Push, verbs::Verb, words::Words,
    world::World,
};

/// More polls than any operation needs.
const MOST_POLLS: usize = 4 * ENOUGH;

/// The server ends a session that idles in a transaction for five seconds, which would hide it.
const PATIENCE: Duration = Duration::from_secs(4);

/// The name of the sessions of the process whose operations are dropped.
const ABANDONED: &str = "abandoned";

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
        .bind(ABANDONED)
        .fetch_all(&world.pool)
        .await
        .unwrap()
    };
    let idle = async {
        while !busy().await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(PATIENCE, idle).await.is_err() {
        panic!("{position}: not idle: {:?}", busy().await);
    }
}

/// Drops `operation` at its first poll, its second, and so on. Returns the number of polls after which it was dropped.
async fn abandon_everywhere<V: Said>(operation: V) -> usize {
    let world = World::new().await;
    let options = world.database.options().application_name(ABANDONED);
    let process = world.process(&options);
    process.db().now().await.unwrap();
    for polls in 1..MOST_POLLS {
        let scene = operation.prepare(&world, &format!("{operation:?}-{polls}")).await;
        let dropped = is_dropped_after(polls, operation.say(&process, &scene)).await;
        until_idle(&world, &format!("{operation:?}, dropped after {polls} polls")).await;
        if !dropped {
            return polls - 1;
        }
    }
    panic!("{operation:?} never ends");
}

macro_rules! abandons {
    ($($name:ident: $kind:ident { $($operation:ident),+ };)+) => {
        $(#[tokio::test]
        async fn $name() {
            let mut dropped = 0;
            for operation in [$($kind::$operation),+] {
                let points = abandon_everywhere(operation).await;
                println!("{operation:?}: dropped at {points} polls");
                dropped += points;
            }
            assert!(dropped >= 2, "a server may answer one poll, and not all of them: {dropped}");
        })+
    };
}

abandons! {
    a_dropped_admission_leaves_no_open_transaction: Verb { Create, Finalize, FinalizeWithKeys };
    a_dropped_claim_leaves_no_open_transaction: Verb { Claim, ClaimInTurn, ClaimRefused, Renew };
    a_dropped_run_leaves_no_open_transaction: Verb { Checkpoint, FailOnce, Complete };
    a_dropped_delivery_leaves_no_open_transaction: Verb { ClaimDelivery, FinishDelivery };
    a_dropped_reminder_leaves_no_open_transaction: Push { Claim, Deliver };
    a_dropped_request_leaves_no_open_transaction: Thing { Rename, ChangeFolder, CreateItems, DeleteMemory };
    a_dropped_append_leaves_no_open_transaction: Words { AppendNamed, KeepAnswer };
    a_dropped_change_of_keys_or_endpoints_leaves_no_open_transaction: Owned { RevokeKey, ChangeEndpoint };
    a_dropped_bulk_replay_leaves_no_open_transaction: Bulk { Start, Step };
}

#[tokio::test]
async fn a_dropped_read_leaves_no_open_transaction() {
    let world = World::new().await;
    let user = world.person("reader").await;
    let process = world.process(&world.database.options().application_name(ABANDONED));
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

/// What the operations above are protected from. When this fails, the driver ends such transactions itself: then a
/// begin needs no task of its own (`pipeline/db/src/connect.rs`).
#[tokio::test]
async fn the_driver_forgets_a_transaction_whose_begin_was_dropped() {
    let world = World::new().await;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1);
    let pool = pool.connect_with(world.database.options()).await.unwrap();
    // A server that answers within the poll is asked again.
    while !is_dropped_after(1, pool.acquire().await.unwrap().begin()).await {}
    sqlx::query("create table lost ()").execute(&pool).await.unwrap();
    pool.close().await;
    let is_there: bool =
        sqlx::query_scalar("select to_regclass('lost') is not null").fetch_one(&world.pool).await.unwrap();
    assert!(!is_there, "an acknowledged statement was committed: the driver was mended");
}

/// A begin is waited for without its caller, but not for ever. The session of one that was given up may be in a transaction.
#[tokio::test]
async fn a_suspect_session_in_a_transaction_is_not_used_again() {
    let world = World::new().await;
    let process = world.process(&world.database.options().application_name(ABANDONED));
    process.db().now().await.unwrap();
    let mut session = process.db().pool().acquire().await.unwrap();
    sqlx::raw_sql("begin").execute(&mut *session).await.unwrap();
    process.db().suspect_connections();
    drop(session);
    until_idle(&world, "a suspect session").await;
}
