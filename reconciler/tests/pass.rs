//! The pass: what is due is rung again, and no row stands in another's way.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod house;

use std::time::Duration;

use house::House;
use reconciler::{Reconciler, Settings};

const DUE: &str = "select count(*) from finalization_jobs where reconcile_after_at <= clock_timestamp()";

#[tokio::test]
async fn a_lost_bell_is_rung_again() {
    let house = House::new().await;
    let job = house.stale("c1", 10).await;

    house.reconciler(100).pass().await.unwrap();

    assert_eq!(house.job(&job).await, ("queued".to_owned(), 2, 0));
    assert_eq!(house.bells(&job).await, [2], "the new bell names the new generation");
    assert_eq!(house.actions("queued"), "1");
    house.rung().await;
}

#[tokio::test]
async fn a_pass_over_nothing_due_changes_nothing() {
    let house = House::new().await;
    let waiting = house.queued("c1").await;
    let repaired = house.stale("c2", 10).await;
    let reconciler = house.reconciler(100);
    reconciler.pass().await.unwrap();
    let before = (house.job(&waiting).await, house.job(&repaired).await);

    reconciler.pass().await.unwrap();

    assert_eq!((house.job(&waiting).await, house.job(&repaired).await), before);
    assert_eq!(house.bells(&waiting).await, [1]);
    assert_eq!(house.actions("queued"), "1", "the first pass did all there was");
}

#[tokio::test]
async fn a_bell_that_waits_for_its_turn_is_left_where_it_is() {
    let house = House::new().await;
    let job = house.queued("c1").await;
    house
        .sql(
            "update finalization_jobs set ready_at = ready_at - interval '10 minutes', \
             reconcile_after_at = clock_timestamp() - interval '5 minutes'",
        )
        .await;

    house.reconciler(100).pass().await.unwrap();

    assert_eq!(house.bells(&job).await, [1]);
    assert_eq!(house.job(&job).await.1, 1, "no new dispatch: it would go to the tail of the queue");
    assert_eq!(house.count(DUE).await, 0, "somebody looks again later");
}

#[tokio::test]
async fn a_pass_turns_pages_until_none_is_due() {
    let house = House::new().await;
    for number in 0..5 {
        house.stale(&format!("c{number}"), 10 + number).await;
    }

    house.reconciler(2).pass().await.unwrap();

    assert_eq!(house.count(DUE).await, 0);
    assert_eq!(house.actions("queued"), "5");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_put_off_alone() {
    let house = House::new().await;
    let unreadable = house.stale("c1", 30).await;
    let behind = [house.stale("c2", 20).await, house.stale("c3", 10).await];
    house.sql("alter table finalization_jobs drop constraint origin_known").await;
    house.sql(&format!("update finalization_jobs set origin = 'rumour' where job_id = '{unreadable}'")).await;

    house.reconciler(1).pass().await.unwrap();

    for job in &behind {
        assert_eq!(house.bells(job).await, [2], "it is behind the row that errs, and is rung all the same");
    }
    assert_eq!(house.actions("put_off"), "1");
    let later = "select count(*) from finalization_jobs where reconcile_after_at > clock_timestamp() + interval '4 minutes' \
                 and origin = 'rumour'";
    assert_eq!(house.count(later).await, 1);
}

#[tokio::test]
async fn a_row_that_cannot_even_be_put_off_stays_due_alone() {
    let house = House::new().await;
    let poisoned = house.stale("c1", 30).await;
    let behind = [house.stale("c2", 20).await, house.stale("c3", 10).await];
    house.refuse(&poisoned).await;

    house.reconciler(1).pass().await.unwrap();

    for job in &behind {
        assert_eq!(house.bells(job).await, [2], "it is behind the row that errs, and is rung all the same");
    }
    assert_eq!(house.refused().await, 2, "it was to be reconciled, and then to be put off");
    assert_eq!(house.count(DUE).await, 1);
}

#[tokio::test]
async fn a_pass_rings_no_job_once_its_budget_is_spent() {
    let house = House::new().await;
    for id in ["c1", "c2"] {
        house.stale(id, 10).await;
    }
    let settings = Settings { budget: Duration::ZERO, ..Settings::default() };
    let reconciler =
        Reconciler::new(house.ledger.clone(), settings, house.metrics.clone(), house.stop.clone());

    reconciler.pass().await.unwrap();

    assert_eq!(house.count(DUE).await, 2);
}

#[tokio::test]
async fn a_bell_that_cannot_be_written_ends_the_pass_and_changes_no_job() {
    let house = House::new().await;
    let first = house.stale("c1", 20).await;
    let second = house.stale("c2", 10).await;
    house.sql("alter table finalization_bells add constraint closed check (false) not valid").await;

    let ended = house.reconciler(100).pass().await;

    assert!(ended.is_err_and(|error| error.is_bell()));
    assert_eq!(house.job(&first).await.1, 1, "no generation is spent");
    assert_eq!(
        house.count(DUE).await,
        1,
        "the first is looked at again in a minute, the second is still due"
    );

    house.sql("alter table finalization_bells drop constraint closed").await;
    house.reconciler(100).pass().await.unwrap();
    assert_eq!(house.bells(&second).await, [2]);
}

#[tokio::test]
async fn a_process_that_stops_touches_no_further_row() {
    let house = House::new().await;
    house.stale("c1", 10).await;
    house.stop.cancel();

    house.reconciler(100).pass().await.unwrap();

    assert_eq!(house.count(DUE).await, 1);
}
