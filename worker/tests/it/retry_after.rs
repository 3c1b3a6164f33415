//! A model server's Retry-After and open circuit delay the job.

use std::time::Duration;

use job::{FailureCode, Job, Queue, State};
use ledger::OperatorAction;
use operations::Operations;
use stages::Failure;

use crate::{bench::Bench, engines::Script};

/// How long after its last change the job is due again; of a job that is queued.
async fn wait_of(bench: &Bench, id: &job::JobId) -> (Job, i64) {
    let pool = bench.database.pool(1).await;
    let query = "select round(extract(epoch from ready_at - updated_at))::bigint \
                 from finalization_jobs where job_id = $1 and status = 'queued'";
    let seconds = sqlx::query_scalar(query).bind(id.as_str()).fetch_one(&pool).await.unwrap();
    (bench.job(id).await.stored.job, seconds)
}

#[tokio::test]
async fn run_retry_after_lengthens_the_back_off_only_if_longer() {
    let bench = Bench::new().await;
    for (asked, expected) in [(900, 899..=901), (1, 24..=36)] {
        let wait = Some(Duration::from_secs(asked));
        let failure = Failure::after(FailureCode::ModelRateLimited, wait);
        let mut working = bench.work(&Script::failing(failure));
        let (_, id) = bench.admit(&format!("c{asked}")).await;

        assert_eq!(working.until_ended().await.1.failure(), Some(FailureCode::ModelRateLimited));

        let (job, seconds) = wait_of(&bench, &id).await;
        assert!(expected.contains(&seconds), "asked for {asked} s, due again after {seconds} s");
        assert_eq!((job.attempts, job.last_code), (1, Some(FailureCode::ModelRateLimited)));
        working.stop().await;
    }
}

#[tokio::test]
async fn run_released_by_an_open_circuit_costs_no_attempt() {
    let bench = Bench::new().await;
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(100));
    let mut working = bench.work(&Script::failing(open));
    let (_, id) = bench.admit("c1").await;

    assert_eq!(working.until_ended().await.1.as_str(), "released");

    let (job, seconds) = wait_of(&bench, &id).await;
    assert!((79..=121).contains(&seconds), "{seconds}");
    assert_eq!((job.attempts, job.crashes, job.runs, job.last_code), (0, 0, 0, None));
    let page = Operations::new(&bench.ledger).job_page(&id).await.unwrap().unwrap();
    let (cause, since) = page.cause().unwrap();
    assert_eq!((cause.code, cause.circuit_open), (FailureCode::ModelUnavailable, true));
    assert_eq!((cause.stage.as_deref(), since), (Some("describe"), page.history.last().unwrap().at));
}

#[tokio::test]
async fn run_released_by_an_open_circuit_waits_at_least_a_second() {
    let bench = Bench::new().await;
    let script = Script::held();
    *script.failure.lock().unwrap() =
        Some(Failure::while_open(FailureCode::ModelUnavailable, Duration::ZERO));
    let mut working = bench.work(&script);
    let (_, id) = bench.admit("c1").await;
    working.until_started("describe").await;
    // The job is not claimed when the second is over.
    let olga = OperatorAction::new("olga", "a test reads");
    assert!(Operations::new(&bench.ledger).pause(Queue::Creation, &olga).await.unwrap());
    script.gate.add_permits(1);

    assert_eq!(working.until_ended().await.1.as_str(), "released");

    let (job, seconds) = wait_of(&bench, &id).await;
    assert_eq!((seconds, job.attempts), (1, 0));
}

#[tokio::test]
async fn open_circuit_costs_an_attempt_after_a_day() {
    let policy = job::Policy { release_window: chrono::Duration::zero(), ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(100));
    let mut working = bench.work(&Script::failing(open));
    let (_, id) = bench.admit("c1").await;

    assert_eq!(working.until_ended().await.1.failure(), Some(FailureCode::ModelUnavailable));

    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.attempts, job.last_code), (1, Some(FailureCode::ModelUnavailable)));
    assert!(matches!(job.state, State::Queued { .. }));
}
