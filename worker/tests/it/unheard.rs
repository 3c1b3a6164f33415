//! A run whose own commit is what it stumbles over.

use std::sync::atomic::Ordering;
use std::time::Duration;

use job::{FailureCode, Outcome, State};
use ledger::Ledger;
use stages::Failure;
use worker::{Ended, Settings};

use crate::bench::{Bench, Working, slots, work};
use crate::cut::{Answer, Line};
use crate::engines::Script;

/// A worker on a line of its own, which renews all the time.
fn on_a_line(bench: &Bench, script: &std::sync::Arc<Script>, answer: Answer) -> Option<(Line, Working)> {
    let line = Line::new(bench.database.options(), answer)?;
    let ledger = Ledger::new(line.options.clone(), ledger::Settings::default());
    let settings = Settings { heartbeat: Duration::from_millis(5), ..slots(1) };
    let working = work(ledger, script, settings);
    Some((line, working))
}

async fn is_done_once(bench: &Bench, id: &job::JobId) {
    let job = bench.job(id).await.job;
    assert_eq!(job.state, State::Completed { outcome: Outcome::Kept });
    assert_eq!((job.epoch, job.attempts, job.crashes), (job::Epoch(1), 0, 0));
    let pool = bench.database.pool(1).await;
    let items: i64 = sqlx::query_scalar("select count(*) from action_items").fetch_one(&pool).await.unwrap();
    assert_eq!(items, 1);
}

#[tokio::test]
async fn a_completion_whose_answer_was_cut_off_is_a_completion() {
    let bench = Bench::new().await;
    let script = Script::open();
    let Some((line, mut working)) = on_a_line(&bench, &script, Answer::Cut) else { return };
    let (_, job) = bench.admit("c1").await;

    line.committed().await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);

    is_done_once(&bench, &job).await;
    assert_eq!(script.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_heartbeat_that_meets_the_runs_own_completion_does_not_end_it() {
    let bench = Bench::new().await;
    let Some((line, mut working)) = on_a_line(&bench, &Script::open(), Answer::Held) else { return };
    let (_, job) = bench.admit("c1").await;

    line.committed().await;
    // Two, as one may have been on its way: the second has read the completed row.
    line.renewals(2).await;
    line.let_go();

    assert_eq!(working.until_ended().await.1, Ended::Completed);
    is_done_once(&bench, &job).await;
}

#[tokio::test]
async fn an_end_that_its_own_heartbeat_meets_is_reported_as_what_it_is() {
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(100));
    let failed = Failure::from(FailureCode::ModelTimeout);
    for (failure, ended) in [(open, Ended::Released), (failed, Ended::Failed(FailureCode::ModelTimeout))] {
        let bench = Bench::new().await;
        let script = Script::failing(failure);
        let Some((line, mut working)) = on_a_line(&bench, &script, Answer::Held) else { return };
        let (_, job) = bench.admit("c1").await;

        line.committed().await;
        // The answer is held: a heartbeat tells of a lost lease, and the ledger is asked once more.
        assert_eq!(working.until_ended().await.1, ended);
        line.let_go();
        assert!(matches!(bench.job(&job).await.job.state, State::Queued { .. }));
    }
}
