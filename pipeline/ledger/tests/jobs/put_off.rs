//! A bell whose job cannot be stored is put off, that bell and no other, whatever other processes do meanwhile.

use chrono::Duration;
use job::{JobId, Queue};
use ledger::{Ledger, Settings, Taken};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::world::{World, worker};

/// The job of `bad`, whose bell rings first, breaks whatever statement changes it; that of `good` does not.
async fn with_one_bad() -> (World, [JobId; 2]) {
    let world = World::new().await;
    let jobs = [world.admitted("bad").await, world.admitted("good").await];
    world.age(&jobs[0], Duration::minutes(1)).await;
    world
        .run(
            "create function refuse() returns trigger language plpgsql as \
                 $$begin raise exception 'no' using errcode = '23514'; end$$; \
             create trigger refuse before update on finalization_jobs for each row \
                 when (new.conversation_id = 'bad') execute function refuse()",
        )
        .await;
    (world, jobs)
}

/// A take that stops before it puts the bad bell off, and the session for which it waits.
async fn about_to_put_off(world: &World) -> (JoinHandle<Taken>, PgConnection) {
    world
        .run(
            "create function stop() returns trigger language plpgsql as \
                 $$begin perform pg_advisory_xact_lock_shared(1); return null; end$$; \
             create trigger stop before update on finalization_bells for each statement execute function stop()",
        )
        .await;
    let mut other = PgConnection::connect_with(&world.database.options()).await.unwrap();
    sqlx::raw_sql("select pg_advisory_lock(1)").execute(&mut other).await.unwrap();
    let ledger = world.other_process();
    let take = tokio::spawn(async move { ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap() });
    world.database.until_somebody_waits().await;
    (take, other)
}

/// From now on the database is not there for whoever puts a bell off.
async fn no_bell_is_moved(world: &World) {
    world
        .run(
            "create function stall() returns trigger language plpgsql as \
                 $$begin raise exception 'away' using errcode = '57P03'; end$$; \
             create trigger stall before update on finalization_bells for each row execute function stall()",
        )
        .await;
}

async fn run(session: &mut PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(session).await.unwrap();
}

const LATER: &str = "select count(*) from finalization_bells where ring_at > now()";

#[tokio::test]
async fn while_another_process_answers_the_bad_bell_no_other_is_put_off() {
    let (world, [_, good]) = with_one_bad().await;
    let (take, mut other) = about_to_put_off(&world).await;
    run(
        &mut other,
        "begin; select from finalization_bells join finalization_jobs using (job_id) \
             where conversation_id = 'bad' for update; \
         select pg_advisory_unlock(1)",
    )
    .await;
    let taken = take.await.unwrap();
    assert_eq!(taken.answers, ["error", "claimed"]);
    assert_eq!(taken.claims[0].job.id, good);
    run(&mut other, "rollback").await;
    assert_eq!(world.count(LATER).await, 0, "the bad one is left to whoever holds it");
}

#[tokio::test]
async fn a_bell_that_another_process_moved_meanwhile_stays_where_it_is() {
    let (world, _) = with_one_bad().await;
    let (take, mut other) = about_to_put_off(&world).await;
    run(
        &mut other,
        "update finalization_bells b set ring_at = now() + interval '1 hour' from finalization_jobs j \
             where j.job_id = b.job_id and j.conversation_id = 'bad'",
    )
    .await;
    // Behind the commit: a bell that is still held would be passed by.
    run(&mut other, "select pg_advisory_unlock(1)").await;
    assert_eq!(take.await.unwrap().answers, ["error", "claimed"]);
    let in_an_hour = "select count(*) from finalization_bells where ring_at > now() + interval '50 minutes'";
    assert_eq!(world.count(in_an_hour).await, 1);
}

#[tokio::test]
async fn without_bells_a_job_that_can_neither_be_stored_nor_put_off_stops_no_other() {
    let (world, [_, good]) = with_one_bad().await;
    let inline = Ledger::new(world.database.options(), Settings { bells: false, ..Settings::default() });
    let taken = inline.take(Queue::Creation, &worker("w"), 10).await.unwrap();
    assert_eq!(taken.answers, ["error", "claimed"]);
    assert_eq!(taken.claims[0].job.id, good);
}

#[tokio::test]
async fn without_bells_such_a_job_is_met_once_also_by_a_process_with_a_single_free_slot() {
    let (world, [bad, good]) = with_one_bad().await;
    let inline = || Ledger::new(world.database.options(), Settings { bells: false, ..Settings::default() });
    let process = inline();
    let take = async |slots| process.take(Queue::Creation, &worker("w"), slots).await.unwrap();
    assert_eq!(take(1).await.answers, ["error"]);
    let taken = take(1).await;
    assert_eq!(taken.claims.iter().map(|claimed| &claimed.job.id).collect::<Vec<_>>(), [&good]);
    assert!(take(9).await.answers.is_empty(), "it is not asked for at every look");
    assert_eq!(process.next_ring_at(Queue::Creation).await.unwrap(), None, "and nobody wakes up for it");
    world.run("drop trigger refuse on finalization_jobs").await;
    let taken = inline().take(Queue::Creation, &worker("v"), 9).await.unwrap();
    assert_eq!(taken.claims[0].job.id, bad, "another process tries for itself");
}

#[tokio::test]
async fn without_bells_a_job_that_cannot_be_claimed_is_put_off() {
    let (world, [bad, _]) = with_one_bad().await;
    world
        .run(
            "drop trigger refuse on finalization_jobs; \
             create trigger refuse before update on finalization_jobs for each row \
                 when (new.conversation_id = 'bad' and new.status = 'leased') execute function refuse()",
        )
        .await;
    let inline = Ledger::new(world.database.options(), Settings { bells: false, ..Settings::default() });
    assert_eq!(inline.take(Queue::Creation, &worker("w"), 10).await.unwrap().answers, ["error", "claimed"]);
    let later = "select count(*) from finalization_jobs where status = 'queued' and ready_at > now()";
    assert_eq!(world.count(later).await, 1, "{bad} is looked at again in a while");
    assert!(inline.take(Queue::Creation, &worker("w"), 10).await.unwrap().answers.is_empty());
}

#[tokio::test]
async fn what_was_claimed_before_a_bell_could_not_be_put_off_is_run() {
    let (world, [bad, good]) = with_one_bad().await;
    // The good one rings first.
    world.age(&good, Duration::minutes(2)).await;
    no_bell_is_moved(&world).await;
    let taken = world.ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
    assert_eq!(taken.answers, ["claimed", "error"]);
    assert_eq!(taken.claims[0].job.id, good, "and not {bad}");
}

#[tokio::test]
async fn what_died_before_a_bell_could_not_be_put_off_is_counted() {
    let (world, [bad, good]) = with_one_bad().await;
    // The good one rings first, and its fifth holder died: whoever takes it finds that out.
    world.claim(&good).await;
    world.run("update finalization_jobs set crashes = 4 where conversation_id = 'good'").await;
    world.age(&good, Duration::minutes(2)).await;
    no_bell_is_moved(&world).await;
    let taken = world.ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
    assert_eq!((taken.answers, taken.dead_letters), (vec!["dead_letter", "error"], 1));
    assert!(taken.claims.is_empty(), "neither {good} nor {bad}");
}

#[tokio::test]
async fn a_take_that_got_nowhere_is_an_error() {
    let (world, [bad, good]) = with_one_bad().await;
    no_bell_is_moved(&world).await;
    let take = async || world.ledger.take(Queue::Creation, &worker("w"), 10).await;
    assert!(take().await.is_err_and(|error| error.is_passing()), "{bad} stands before {good}");
    world.run("alter table finalization_bells rename to away").await;
    assert!(take().await.is_err_and(|error| !error.is_passing()), "not even a bell was met");
}

#[tokio::test]
async fn of_two_bells_of_a_bad_job_the_one_that_was_taken_is_put_off() {
    let (world, _) = with_one_bad().await;
    world
        .run(
            "insert into finalization_bells select b.job_id, 2, b.dispatch_generation, b.queue, \
                 b.ring_at + interval '1 second' \
             from finalization_bells b join finalization_jobs using (job_id) where conversation_id = 'bad'",
        )
        .await;
    let taken = world.ledger.take(Queue::Creation, &worker("w"), 1).await.unwrap();
    assert_eq!(taken.answers, ["error"]);
    let first = "select count(*) from finalization_bells where ring_at > now() and ring = 1";
    assert_eq!((world.count(LATER).await, world.count(first).await), (1, 1));
}
