//! A line that was written is read back as what it meant.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

use job::{
    Admission, Command, Epoch, FailureCode, Generation, JobId, Origin, Outcome, Policy, WorkerId, decide,
};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

fn admitted() -> Job {
    let id = JobId::derive("ann", "c", 1);
    Job::admit(Admission { id, origin: Origin::Finalize, force_process: true, requires_keys: false }, at(0))
        .job
}

/// Says `command`, and answers the job afterwards with what its row would remember.
fn said(job: &Job, command: Command, seconds: i64, stages: &[(&'static str, u32)]) -> (Job, Option<Event>) {
    let said = Said { verb: verb(&command), stages, cause: None };
    let after = decide(job, command, at(seconds), &Policy::default()).unwrap().job;
    let line = line(job, &after, seconds, at(seconds), said);
    (after, line.map(|line| read(&[line]).pop().unwrap()))
}

fn claim() -> Command {
    Command::Claim {
        generation: Generation(1),
        worker: WorkerId("a host:1/finalization".into()),
        keys: false,
    }
}

#[test]
fn a_completion_is_read_back_with_its_worker_and_stages() {
    let (leased, claimed) = said(&admitted(), claim(), 2, &[]);
    let claimed = claimed.unwrap();
    assert_eq!(
        (claimed.verb.as_str(), claimed.from.as_str(), claimed.to.as_str()),
        ("claim", "queued", "leased")
    );
    assert_eq!(claimed.worker.as_deref(), Some("a_host:1/finalization"), "a line has no other spaces");
    let complete = Command::Complete { epoch: Epoch(1), outcome: Outcome::Kept };
    let (_, completed) = said(&leased, complete, 3, &[("describe", 61), ("embed", 0)]);
    let completed = completed.unwrap();
    assert_eq!(completed.stages, [("describe".to_owned(), 61), ("embed".to_owned(), 0)]);
    assert_eq!((completed.version, completed.at, completed.code), (3, at(3), None));
}

#[test]
fn a_failure_is_read_back_with_its_code_and_when_it_goes_on() {
    let (leased, _) = said(&admitted(), claim(), 2, &[]);
    let code = FailureCode::ModelTimeout;
    let fail = Command::Fail { epoch: Epoch(1), code, retry_after: None, jitter_permille: 0 };
    let (queued, failed) = said(&leased, fail, 5, &[]);
    let failed = failed.unwrap();
    assert_eq!(failed.code.as_deref(), Some("model_timeout"));
    assert_eq!(State::Queued { ready_at: failed.ready_at.unwrap() }, queued.state);
    assert_eq!(failed.worker.as_deref(), Some("a_host:1/finalization"), "who held it");
}

#[test]
fn a_renewal_and_a_look_that_changes_nothing_leave_no_line() {
    let (leased, _) = said(&admitted(), claim(), 2, &[]);
    assert_eq!(said(&leased, Command::Renew { epoch: Epoch(1) }, 5, &[]).1, None);
    let look = Command::Reconcile { task_waiting: true };
    assert_eq!(said(&admitted(), look, 400, &[]).1, None);
    let ring = Command::Reconcile { task_waiting: false };
    assert_eq!(said(&admitted(), ring, 400, &[]).1.unwrap().generation, 2);
}

#[test]
fn a_line_of_another_version_is_left_out() {
    let lines = ["2 x claim queued>leased 1 1 w - -", "", "2 3 claim"].map(str::to_owned);
    assert_eq!(read(&lines), []);
}

#[test]
fn what_lies_behind_a_release_is_read_back() {
    let cause = Cause {
        code: FailureCode::ModelUnavailable,
        stage: Some("describe".to_owned()),
        class: Some(ErrorClass::ServerError),
        http_status: Some(503),
        circuit_open: true,
    };
    let (leased, _) = said(&admitted(), claim(), 2, &[]);
    let release = Command::Release { epoch: Epoch(1), delay: chrono::Duration::seconds(60) };
    let released = decide(&leased, release, at(3), &Policy::default()).unwrap().job;
    let written = |cause| {
        let said = Said { verb: Some("release"), stages: &[], cause };
        read(&[line(&leased, &released, 3, at(3), said).unwrap()]).pop().unwrap().cause
    };
    assert_eq!(written(Some(&cause)), Some(cause.clone()));
    let unknown = Cause { stage: None, class: None, http_status: None, circuit_open: false, ..cause };
    assert_eq!(written(Some(&unknown)), Some(unknown.clone()));
    assert_eq!(written(None), None);
}
