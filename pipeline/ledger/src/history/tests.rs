//! An entry that was written is read back as what it meant.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

use job::{
    Admission, Command, Epoch, FailureCode, Generation, JobId, Origin, Outcome, Policy, WorkerId, decide,
};

use serde_json::json;

use super::*;

/// What a row with these entries remembers.
fn stored(entries: &[Value]) -> Vec<Event> {
    History(Some(Json(entries.to_vec()))).events().collect()
}

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
    let detail = Detail { verb: verb(&command), stages, ..Detail::default() };
    let after = decide(job, command, at(seconds), &Policy::default()).unwrap().job;
    let event = event(job, &after, seconds, at(seconds), detail);
    (after, event.map(|event| stored(&[json!(event)]).pop().unwrap()))
}

fn claim() -> Command {
    Command::Claim {
        generation: Generation(1),
        worker: WorkerId("a host:1/finalization".into()),
        keys: false,
    }
}

#[test]
fn history_completion_round_trips_with_worker_and_stages() {
    let (leased, claimed) = said(&admitted(), claim(), 2, &[]);
    let claimed = claimed.unwrap();
    assert_eq!((claimed.verb, claimed.from.as_str(), claimed.to.as_str()), (Verb::Claim, "queued", "leased"));
    assert_eq!(claimed.worker.as_deref(), Some("a host:1/finalization"));
    let complete = Command::Complete { epoch: Epoch(1), outcome: Outcome::Kept };
    let (_, completed) = said(&leased, complete, 3, &[("describe", 61), ("embed", 0)]);
    let completed = completed.unwrap();
    assert_eq!(completed.stages, [("describe".to_owned(), 61), ("embed".to_owned(), 0)]);
    assert_eq!((completed.version, completed.at, completed.code), (3, at(3), None));
}

#[test]
fn history_failure_round_trips_with_code_and_retry_time() {
    let (leased, _) = said(&admitted(), claim(), 2, &[]);
    let code = FailureCode::ModelTimeout;
    let fail = Command::Fail { epoch: Epoch(1), code, retry_after: None, jitter_permille: 0 };
    let (queued, failed) = said(&leased, fail, 5, &[]);
    let failed = failed.unwrap();
    assert_eq!(failed.code.as_deref(), Some("model_timeout"));
    assert_eq!(State::Queued { ready_at: failed.ready_at.unwrap() }, queued.state);
    assert_eq!(failed.worker.as_deref(), Some("a host:1/finalization"), "of the lease");
}

#[test]
fn history_omits_renewals_and_unchanged_checks() {
    let (leased, _) = said(&admitted(), claim(), 2, &[]);
    assert_eq!(said(&leased, Command::Renew { epoch: Epoch(1) }, 5, &[]).1, None);
    let look = Command::Reconcile { task_waiting: true };
    assert_eq!(said(&admitted(), look, 400, &[]).1, None);
    let ring = Command::Reconcile { task_waiting: false };
    assert_eq!(said(&admitted(), ring, 400, &[]).1.unwrap().generation, 2);
}

#[test]
fn history_skips_entries_of_another_version() {
    let (_, claimed) = said(&admitted(), claim(), 2, &[]);
    let known = json!(claimed);
    let mut newer = known.clone();
    newer["verb"] = json!("teleport");
    let events = stored(&[newer, json!("2 3 claim"), json!({ "v": 1 }), known]);
    assert_eq!(events, [claimed.unwrap()]);
    assert_eq!(History(None).events().count(), 0, "nothing happened yet");
}

#[test]
fn history_entry_has_the_documented_shape() {
    let (leased, claimed) = said(&admitted(), claim(), 2, &[]);
    assert_eq!(
        json!(claimed),
        json!({
            "v": 2, "at": 1_800_000_002_000_000_u64, "verb": "claim", "from": "queued", "to": "leased",
            "epoch": 1, "by": "a host:1/finalization",
        })
    );
    let complete = Command::Complete { epoch: Epoch(1), outcome: Outcome::Kept };
    let (_, completed) = said(&leased, complete, 3, &[("describe", 61)]);
    assert_eq!(json!(completed)["stages"], json!(["describe", 61]));
}

#[test]
fn history_verb_names_equal_their_serialization() {
    for verb in [Verb::Claim, Verb::ProveAlive, Verb::RequireKeys, Verb::RunNow, Verb::Withdraw] {
        assert_eq!(json!(verb), json!(verb.as_str()));
    }
}

#[test]
fn history_release_round_trips_with_its_cause() {
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
        let detail = Detail { verb: Some(Verb::Release), stages: &[], cause };
        let event = event(&leased, &released, 3, at(3), detail).unwrap();
        stored(&[json!(event)]).pop().unwrap().cause
    };
    assert_eq!(written(Some(&cause)), Some(cause.clone()));
    let unknown = Cause { stage: None, class: None, http_status: None, circuit_open: false, ..cause };
    assert_eq!(written(Some(&unknown)), Some(unknown.clone()));
    assert_eq!(written(None), None);
}
