//! The poll of a finalization.

use job::{Cause, ErrorClass as Class};
use ledger::Poll;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Time,
    words::{ErrorClass, JobOutcome, JobProgress, JobStatus},
};
use crate::shapes::Shape;

/// The job that finalizes the newest revision of a conversation. It holds no word of what was said.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FinalizationJob {
    /// The same for the same user, conversation and revision.
    job_id: String,
    /// The status.
    #[schemars(with = "JobStatus")]
    status: &'static str,
    /// Whether it is finished: completed or dead_letter.
    terminal: bool,
    /// Whether another run will follow: `queued`.
    retryable: bool,
    /// Runs begun and not released.
    attempt_count: u32,
    /// Runs that failed or crashed so far.
    task_retry_count: u32,
    /// The number of its dispatch.
    #[schemars(range(min = 1))]
    dispatch_generation: i64,
    /// Why it last failed; a page on each code is in the service's documents.
    failure_code: Option<&'static str>,
    /// How a completed job ended.
    #[schemars(with = "Option<JobOutcome>")]
    outcome: Option<&'static str>,
    /// When it was admitted.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// The status in short.
    #[schemars(with = "JobProgress")]
    progress: &'static str,
    /// Whether a finalize would admit the conversation once more: it failed.
    can_finalize_again: bool,
    /// The cause of the last failure, or of the last release without a failure.
    cause: Option<FailureCause>,
}

/// The cause of the last failure, or of the last release without a failure: closed values, never a provider's words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureCause {
    /// The failure code.
    failure_code: &'static str,
    /// The stage that failed.
    stage: Option<String>,
    /// The answer of the model server, or its silence.
    #[schemars(with = "Option<ErrorClass>")]
    error_class: Option<&'static str>,
    /// The status of that answer.
    http_status: Option<u16>,
    /// Whether the model server is not asked for a while: no attempt is spent.
    circuit_open: bool,
}

impl Shape for FinalizationJob {
    fn example() -> Value {
        json!({
            "job_id": "fj_5a1c09e27d3f8b6a4c21e0f9b8d7c6a5e4f3d2c1b0",
            "status": "leased",
            "terminal": false,
            "retryable": false,
            "attempt_count": 1,
            "task_retry_count": 0,
            "dispatch_generation": 1,
            "failure_code": null,
            "outcome": null,
            "created_at": "2026-11-21T09:00:00Z",
            "updated_at": "2026-11-21T09:00:00.120301Z",
            "progress": "running",
            "can_finalize_again": false,
            "cause": null,
        })
    }
}

/// Status and bounded counts, never a word of the conversation (DECISIONS §4, "poll").
pub fn poll(poll: &Poll) -> FinalizationJob {
    FinalizationJob {
        job_id: poll.job_id.as_str().to_owned(),
        status: poll.status,
        terminal: poll.terminal,
        retryable: poll.retryable,
        attempt_count: poll.attempt_count,
        task_retry_count: poll.task_retry_count,
        dispatch_generation: poll.dispatch_generation.0,
        failure_code: poll.failure_code,
        outcome: poll.outcome,
        created_at: poll.created_at.into(),
        updated_at: poll.updated_at.into(),
        progress: progress(poll),
        can_finalize_again: poll.can_finalize_again,
        cause: poll.cause.as_ref().map(cause),
    }
}

/// The status in four words that need no explanation.
fn progress(poll: &Poll) -> &'static str {
    match poll.status {
        "leased" => "running",
        "completed" => "done",
        "dead_letter" => "failed",
        _ => "waiting",
    }
}

fn cause(cause: &Cause) -> FailureCause {
    FailureCause {
        failure_code: cause.code.as_str(),
        stage: cause.stage.clone(),
        error_class: cause.class.map(Class::as_str),
        http_status: cause.http_status,
        circuit_open: cause.circuit_open,
    }
}
