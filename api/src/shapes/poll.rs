//! The poll of a finalization.

use ledger::Poll;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Time,
    words::{JobOutcome, JobStatus},
};
use crate::endpoint::Shape;

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
    }
}
