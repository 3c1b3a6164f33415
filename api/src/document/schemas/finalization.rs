//! Finalization.

use job::ErrorClass;
use serde_json::{Value, json};

use super::{count, object, one_of, reference, text, text_or_null, time, truth};

/// The schemas of `shapes/poll.rs`, and of the answer to finalize.
pub(super) fn schemas() -> Value {
    json!({ "Finalizing": finalizing(), "FinalizationJob": job(), "FailureCause": cause() })
}

fn finalizing() -> Value {
    object(
        "The conversation, processing.",
        json!({
            "conversation": reference("Conversation"),
            "messages": { "type": "array", "items": {}, "maxItems": 0, "description": "Always empty." },
        }),
        &[],
    )
}

fn job() -> Value {
    object(
        "The job that finalizes the newest revision of a conversation. It holds no word of what was said.",
        json!({
            "job_id": text("The same for the same user, conversation and revision."),
            "status": one_of("The status.", ["queued", "leased", "completed", "dead_letter", "blocked_byok"]),
            "terminal": truth("Whether it is finished: completed or dead_letter."),
            "retryable": truth("Whether another run will follow: `queued`."),
            "attempt_count": count("Runs begun and not released."),
            "task_retry_count": count("Runs that failed or crashed so far."),
            "dispatch_generation": { "type": "integer", "minimum": 1, "description": "The number of its dispatch." },
            "failure_code": text_or_null("Why it last failed; a page on each code is in the service's documents."),
            "outcome": {
                "type": ["string", "null"], "enum": ["kept", "discarded", "withdrawn", null],
                "description": "How a completed job ended.",
            },
            "created_at": time("When it was admitted."),
            "updated_at": time("When it last changed."),
            "progress": one_of("The status in short: `blocked_byok` is waiting, too.", ["waiting", "running", "done", "failed"]),
            "can_finalize_again": truth("Whether a finalize would admit the conversation once more: it failed."),
            "cause": { "anyOf": [reference("FailureCause"), { "type": "null" }] },
        }),
        &[],
    )
}

fn cause() -> Value {
    let classes = ErrorClass::ALL.iter().map(|class| Value::from(class.as_str())).chain([Value::Null]);
    object(
        "The cause of the last failure, or of the last release without a failure.",
        json!({
            "failure_code": text("The failure code."),
            "stage": text_or_null("The stage that failed."),
            "error_class": {
                "type": ["string", "null"], "enum": classes.collect::<Vec<_>>(),
                "description": "The answer of the model server, or its silence.",
            },
            "http_status": { "type": ["integer", "null"], "description": "The status of that answer." },
            "circuit_open": truth("Whether the model server is not asked for a while: no attempt is spent."),
        }),
        &[],
    )
}
