//! No wait is unbounded: every session and every transaction of the ledger bounds its waits, its statements and its idling.

use std::time::Duration;

use job::Queue;
use ledger::{Ledger, Settings};
use records::ConversationId;
use store::ConversationFilter;

use crate::world::World;

/// Records the bounds of every writer of one of these tables.
const NOTED: &str = "create table noted (at text, locks text, statements text, idling text, isolation text); \
    create function note() returns trigger language plpgsql as $$ begin \
        insert into noted values (tg_table_name, current_setting('lock_timeout'), \
            current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'), \
            current_setting('transaction_isolation')); \
        return null; end $$; \
    create trigger noted after insert or update on users for each statement execute function note(); \
    create trigger noted after insert or update on conversations for each statement execute function note(); \
    create trigger noted after insert or update on finalization_jobs for each statement execute function note()";

/// The database has a default that is for others: under it, half of what comes at once would be refused as a conflict.
#[tokio::test]
async fn whatever_writes_is_bounded_and_sees_what_was_committed() {
    let mut world = World::new().await;
    world.run(NOTED).await;
    let name = world.database.name();
    world
        .database
        .run(&format!("alter database {name} set default_transaction_isolation = 'serializable'"))
        .await;
    world.begun.ledger = Ledger::new(world.database.options(), Settings::default());
    // In a transaction; in one that reads the clock itself; in one of renewals; as one statement by keys; as one of any kind.
    world.ledger.change_user(&world.ann, &Default::default()).await.unwrap().unwrap();
    let id = world.deferred("c").await;
    let job = world.ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap().job.unwrap();
    assert_eq!(world.claimed_ids(Queue::Finalization).await.len(), 1);
    let held = world.view(&job).await;
    let token =
        ledger::LeaseToken { user_id: held.user_id, job_id: held.job.id.clone(), epoch: held.job.epoch };
    world.ledger.renew(&[token]).await.unwrap();
    world.ledger.defer(&world.ann, &job).await.unwrap();
    let bounds: Vec<(String, String, String, String)> =
        world.rows("select distinct locks, statements, idling, isolation from noted").await;
    let read = |text: &str| text.to_owned();
    assert_eq!(bounds, [(read("2s"), read("10s"), read("5s"), read("read committed"))]);
    assert_eq!(world.count("select count(distinct at) from noted").await, 3);
}

#[tokio::test]
async fn a_session_that_was_idle_for_a_while_is_asked_before_it_is_used() {
    let world = World::new().await;
    let options = world.database.options().application_name("idle");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    ledger.db().now().await.unwrap();
    // No race is waited out here: only a session that has been idle for more than a second is doubted.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    end(&world, "idle").await;
    ledger.db().now().await.unwrap();
}

#[tokio::test]
async fn a_session_that_was_idle_for_a_while_and_lives_is_used_again() {
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

/// A ledger of which one session each has just answered a page and a poll, by the name of `name`.
async fn kept(world: &World, name: &str) -> Ledger {
    let ledger = Ledger::new(world.database.options().application_name(name), Settings::default());
    asks(world, &ledger).await.unwrap();
    ledger
}

async fn asks(world: &World, ledger: &Ledger) -> Result<(), db::Error> {
    ledger.store().conversations(&world.ann, &ConversationFilter::default()).await?;
    ledger.poll(&world.ann, &ConversationId::new("none")).await?;
    Ok(())
}

async fn end(world: &World, name: &'static str) {
    const END: &str = "select pg_terminate_backend(pid) from pg_stat_activity \
        where application_name = $1 and datname = current_database()";
    sqlx::query(END).bind(name).execute(&world.pool).await.unwrap();
    world.database.until_nobody_is(name).await;
}

#[tokio::test]
async fn a_session_that_was_kept_for_a_while_is_asked_before_it_is_used() {
    let world = World::new().await;
    let ledger = kept(&world, "kept").await;
    // Only one that has been kept for more than a second is doubted.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    end(&world, "kept").await;
    asks(&world, &ledger).await.unwrap();
}

#[tokio::test]
async fn nobody_is_given_a_kept_session_in_doubt() {
    let world = World::new().await;
    let ledger = kept(&world, "doubted").await;
    end(&world, "doubted").await;
    ledger.db().suspect_connections();
    asks(&world, &ledger).await.unwrap();
}

#[tokio::test]
async fn a_statement_that_ends_while_its_ledger_closes_holds_nothing_up() {
    let world = World::new().await;
    let ledger = Ledger::new(world.database.options().application_name("closing"), Settings::default());
    let mut blocker = world.pool.begin().await.unwrap();
    sqlx::raw_sql("lock table conversations in access exclusive mode").execute(&mut *blocker).await.unwrap();
    let (asking, user) = (ledger.clone(), world.ann.clone());
    let asked =
        tokio::spawn(
            async move { asking.store().conversations(&user, &ConversationFilter::default()).await },
        );
    world.database.until_somebody_waits().await;
    let mut closing = Box::pin(ledger.db().close());
    assert!(futures::poll!(&mut closing).is_pending());
    blocker.rollback().await.unwrap();
    assert!(asked.await.unwrap().unwrap().is_empty());
    tokio::time::timeout(Duration::from_secs(5), closing).await.expect("nobody keeps what is closed");
}

#[tokio::test]
async fn a_lease_is_renewed_while_others_have_all_sessions() {
    let world = World::new().await;
    let token = world.claimed("c").await.lease_token();
    // A change of a user stops here, longer than a session is waited for.
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
