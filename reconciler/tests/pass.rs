//! The repair pass: jobs parked past their deadline are given up, and a faulty row blocks no other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod setup;

use std::time::Duration;

use reconciler::{Reconciler, Settings};
use setup::Setup;

const DUE: &str = "select count(*) from finalization_jobs where reconcile_after_at <= clock_timestamp()";

#[tokio::test]
async fn pass_gives_up_a_job_parked_too_long() {
    let setup = Setup::new().await;
    let [job] = setup.overdue(["c1"]).await;

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.job(&job).await, ("dead_letter".to_owned(), 1, 0));
    assert_eq!(setup.actions("dead_letter"), "1");
    assert_eq!(setup.dead_letters.get(), 1);
}

#[tokio::test]
async fn pass_leaves_a_parked_job_before_its_deadline() {
    let setup = Setup::new().await;
    let [waiting] = setup.parked(["c1"]).await;

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.job(&waiting).await, ("blocked_byok".to_owned(), 1, 0));
    assert_eq!(setup.actions("dead_letter"), "0");
}

#[tokio::test]
async fn pass_leaves_a_queued_job_however_old() {
    let setup = Setup::new().await;
    let job = setup.queued("c1").await;
    setup
        .sql(
            "update finalization_jobs set ready_at = ready_at - interval '10 minutes', \
             reconcile_after_at = clock_timestamp() - interval '5 minutes'",
        )
        .await;

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.job(&job).await, ("queued".to_owned(), 1, 0), "a new dispatch would put it last");
    assert_eq!(setup.count("select count(*) from finalization_jobs where version > 1").await, 0);
}

#[tokio::test]
async fn pass_reads_pages_until_no_job_is_due() {
    let setup = Setup::new().await;
    setup.overdue(["c0", "c1", "c2", "c3", "c4"]).await;

    setup.reconciler(2).pass().await.unwrap();

    assert_eq!(setup.count(DUE).await, 0);
    assert_eq!(setup.actions("dead_letter"), "5");
}

#[tokio::test]
async fn pass_defers_an_unreadable_row_alone() {
    let setup = Setup::new().await;
    let [unreadable, second, third] = setup.overdue(["c1", "c2", "c3"]).await;
    setup.sql("alter table finalization_jobs drop constraint origin_known").await;
    setup.sql(&format!("update finalization_jobs set origin = 'rumour' where job_id = '{unreadable}'")).await;

    setup.reconciler(1).pass().await.unwrap();

    for job in [&second, &third] {
        assert_eq!(setup.job(job).await.0, "dead_letter", "it is behind the row that errs");
    }
    assert_eq!(setup.actions("deferred"), "1");
    let later = "select count(*) from finalization_jobs where reconcile_after_at > clock_timestamp() + interval '4 minutes' \
                 and origin = 'rumour'";
    assert_eq!(setup.count(later).await, 1);
}

#[tokio::test]
async fn pass_leaves_a_row_that_cannot_be_deferred_due() {
    let setup = Setup::new().await;
    let [poisoned, second, third] = setup.overdue(["c1", "c2", "c3"]).await;
    setup.refuse(&poisoned).await;

    setup.reconciler(1).pass().await.unwrap();

    for job in [&second, &third] {
        assert_eq!(setup.job(job).await.0, "dead_letter", "it is behind the row that errs");
    }
    assert_eq!(setup.refused().await, 2, "it was to be reconciled, and then to be deferred");
    assert_eq!(setup.count(DUE).await, 1);
}

#[tokio::test]
async fn pass_goes_on_behind_rows_that_are_locked() {
    let setup = Setup::new().await;
    let [.., third] = setup.overdue(["c1", "c2", "c3"]).await;
    setup.refuse_with("55P03", "update on finalization_jobs", "old.conversation_id in ('c1', 'c2')").await;

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.job(&third).await.0, "dead_letter");
    assert_eq!(setup.count(DUE).await, 2);
}

#[tokio::test]
async fn pass_changes_no_job_over_its_time_budget() {
    let setup = Setup::new().await;
    setup.overdue(["c1", "c2"]).await;
    let settings = Settings { budget: Duration::ZERO, ..Settings::default() };
    let reconciler =
        Reconciler::new(setup.ledger.clone(), settings, setup.metrics.clone(), setup.stop.clone());

    reconciler.pass().await.unwrap();

    assert_eq!(setup.count(DUE).await, 2);
}

#[tokio::test]
async fn pass_touches_no_further_row_during_shutdown() {
    let setup = Setup::new().await;
    setup.overdue(["c1"]).await;
    setup.stop.cancel();

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.count(DUE).await, 1);
}
