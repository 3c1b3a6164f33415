//! The poll of a finalization.

use ledger::Poll;
use serde_json::{Value, json};

use super::moment;

/// Status and bounded counts, never a word of the conversation (DECISIONS §4, "poll").
pub fn poll(poll: &Poll) -> Value {
    json!({
        "job_id": poll.job_id.as_str(),
        "status": poll.status,
        "terminal": poll.terminal,
        "retryable": poll.retryable,
        "attempt_count": poll.attempt_count,
        "task_retry_count": poll.task_retry_count,
        "dispatch_generation": poll.dispatch_generation.0,
        "failure_code": poll.failure_code,
        "outcome": poll.outcome,
        "created_at": moment(poll.created_at),
        "updated_at": moment(poll.updated_at),
    })
}
