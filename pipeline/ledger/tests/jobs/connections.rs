//! Connections: every session and transaction has timeouts, and one that was idle is checked before it is used.

use std::time::Duration;

use job::Queue;
use ledger::{Ledger, Settings};
use records::ConversationId;
use store::ConversationFilter;

use crate::world::World;

/// Records the settings of every statement that writes one of these tables.
const RECORDED: &str = "create table recorded (at text, locks text, statements text, idling text, isolation text, strings text); \
    create function note() returns trigger language plpgsql as $$ begin \
        insert into recorded values (tg_table_name, current_setting('lock_timeout'), \
            current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'), \
            current_setting('transaction_isolation'), current_setting('standard_conforming_strings')); \
        return null; end $$; \
    create trigger recorded after insert or update on users for each statement execute function note(); \
    create trigger recorded after insert or update on conversations for each statement execute function note(); \
    create trigger recorded after insert or update on finalization_jobs for each statement execute function note()";

/// With these defaults of the database, half of concurrent requests would be refused as conflicts, and the id of an erased user would
/// stay in operators' orders.
#[tokio::test]
async fn every_write_has_timeouts_and_reads_committed_rows() {
    let mut world = World::new().await;
    world.run(RECORDED).await;
    let name = world.database.name();
    world
        .database
        .run(&format!(
            "alter database {name} set default_transaction_isolation = 'serializable'; \
             alter database {name} set standard_conforming_strings = off"
        ))
        .await;
    world.fixture.ledger = Ledger::new(world.database.options(), Settings::default());
    // A transaction; one that reads the clock itself; one of renewals; single statements.
    world.ledger.change_user(&world.ann, &Default::default()).await.unwrap().unwrap();
    let id = world.deferred("c").await;
    let job = world.ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap().job.unwrap();
    assert_eq!(world.claimed_ids(Queue::Finalization).await.len(), 1);
    let token = world.view(&job).await.lease_token();
    world.ledger.renew(&[token]).await.unwrap();
    world.ledger.defer(&world.ann, &job).await.unwrap();
    let bounds: Vec<(String, String, String, String, String)> =
        world.rows("select distinct locks, statements, idling, isolation, strings from recorded").await;
    let read = |text: &str| text.to_owned();
    assert_eq!(bounds, [(read("2s"), read("10s"), read("5s"), read("read committed"), read("on"))]);
    assert_eq!(world.count("select count(distinct at) from recorded").await, 3);
}

#[tokio::test]
async fn idle_connection_is_checked_before_use() {
    let world = World::new().await;
    let options = world.database.options().application_name("idle");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    ledger.db().now().await.unwrap();
    // This sleep hides no race: only a connection that has been idle for more than a second is checked.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    close_connections(&world, "idle").await;
    ledger.db().now().await.unwrap();
}

#[tokio::test]
async fn idle_connection_that_is_alive_is_reused() {
    let world = World::new().await;
    let options = world.database.options().application_name("alive");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    let session = async || -> Vec<i32> {
        ledger.db().now().await.unwrap();
        let sessions = "select pid from pg_stat_activity where application_name = 'alive' \
            and datname = current_database()";
        world.list(sessions).await
    };
    let before = session().await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(session().await, before);
}

/// A ledger with an open connection for a page and one for a poll, under the application name `name`.
async fn connected(world: &World, name: &str) -> Ledger {
    let ledger = Ledger::new(world.database.options().application_name(name), Settings::default());
    read(world, &ledger).await.unwrap();
    ledger
}

async fn read(world: &World, ledger: &Ledger) -> Result<(), db::Error> {
    ledger.store().conversations(&world.ann, &ConversationFilter::default()).await?;
    ledger.poll(&world.ann, &ConversationId::new("none")).await?;
    Ok(())
}

async fn close_connections(world: &World, name: &'static str) {
    const END: &str = "select pg_terminate_backend(pid) from pg_stat_activity \
        where application_name = $1 and datname = current_database()";
    sqlx::query(END).bind(name).execute(&world.pool).await.unwrap();
    world.database.until_nobody_is(name).await;
}

#[tokio::test]
async fn dedicated_connection_is_checked_before_use_when_idle() {
    let world = World::new().await;
    let ledger = connected(&world, "kept").await;
    // Only a connection that has been idle for more than a second is checked.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    close_connections(&world, "kept").await;
    read(&world, &ledger).await.unwrap();
}

#[tokio::test]
async fn suspect_connections_are_checked_before_use() {
    let world = World::new().await;
    let ledger = connected(&world, "suspect").await;
    close_connections(&world, "suspect").await;
    ledger.db().suspect_connections();
    read(&world, &ledger).await.unwrap();
}

/// On a slow server a request that waited a second had all sessions of its process opened anew, which made the server slower.
#[tokio::test]
async fn one_slow_answer_replaces_no_other_connection() {
    let world = World::new().await;
    let ledger = Ledger::new(world.database.options(), Settings { connections: 4, ..Settings::default() });
    let open = async || {
        let (mut held, mut found) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let mut session = ledger.db().pool().acquire().await.unwrap();
            let pid = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *session).await.unwrap();
            found.push(pid);
            held.push(session);
        }
        found
    };
    let before: Vec<i32> = open().await;
    ledger.db().in_time(ledger.db().now()).await.unwrap();
    let locked = world.database.hold_locks("lock table conversations in access exclusive mode").await;
    let filter = ConversationFilter::default();
    let read = ledger.store().conversations(&world.ann, &filter);
    let given_up = ledger.db().within(Duration::from_millis(300), read).await;
    assert!(given_up.is_err_and(|error| matches!(error, db::Error::Unavailable { .. })));
    drop(locked);
    let kept = open().await.into_iter().filter(|pid| before.contains(pid)).count();
    assert!(kept >= 3, "{kept} of 4 were kept");
}

#[tokio::test]
async fn closing_the_ledger_waits_for_running_statements_only() {
    let world = World::new().await;
    let ledger = Ledger::new(world.database.options().application_name("closing"), Settings::default());
    let mut blocker = world.pool.begin().await.unwrap();
    sqlx::raw_sql("lock table conversations in access exclusive mode").execute(&mut *blocker).await.unwrap();
    let (asking, user) = (ledger.clone(), world.ann.clone());
    let read =
        tokio::spawn(
            async move { asking.store().conversations(&user, &ConversationFilter::default()).await },
        );
    world.database.until_somebody_waits().await;
    let mut closing = Box::pin(ledger.db().close());
    assert!(futures::poll!(&mut closing).is_pending());
    blocker.rollback().await.unwrap();
    assert!(read.await.unwrap().unwrap().is_empty());
    tokio::time::timeout(Duration::from_secs(30), closing)
        .await
        .expect("no connection is returned to a closed pool");
}

#[tokio::test]
async fn renew_works_while_all_other_connections_are_in_use() {
    let world = World::new().await;
    let token = world.claimed("c").await.lease_token();
    // A change of a user stops here, longer than the wait for a connection.
    world
        .run(
            "create function stop() returns trigger language plpgsql as \
                 $$begin perform set_config('lock_timeout', '0', true); perform pg_advisory_xact_lock(1); \
                     return new; end$$; \
             create trigger stop before update on users for each row execute function stop()",
        )
        .await;
    let _held = world.database.hold_locks("select pg_advisory_xact_lock(1)").await;
    let ledger = Ledger::new(world.database.options(), Settings { connections: 1, ..Settings::default() });
    let (busy, ann) = (ledger.clone(), world.ann.clone());
    let changing = tokio::spawn(async move { busy.change_user(&ann, &Default::default()).await });
    world.database.until_somebody_waits().await;
    let renewed = ledger.renew(&[token]).await.unwrap();
    assert!(matches!(renewed[..], [ledger::Renewal::Renewed { .. }]), "{renewed:?}");
    changing.abort();
}
