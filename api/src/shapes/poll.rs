//! The poll of a finalization.

use job::{Cause, ErrorClass};
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
        "progress": progress(poll),
        "can_finalize_again": poll.can_finalize_again,
        "cause": poll.cause.as_ref().map(cause),
    })
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

/// What lies behind the last failure or release: closed values, never a provider's words.
fn cause(cause: &Cause) -> Value {
    json!({
        "failure_code": cause.code.as_str(),
        "stage": cause.stage,
        "error_class": cause.class.map(ErrorClass::as_str),
        "http_status": cause.http_status,
        "circuit_open": cause.circuit_open,
    })
}
