//! Finalization.

use serde_json::{Value, json};

use super::{count, object, one_of, reference, text, text_or_null, time, truth};

/// The schemas of `shapes/poll.rs`, and of the answer to finalize.
pub(super) fn schemas() -> Value {
    json!({ "Finalizing": finalizing(), "FinalizationJob": job() })
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
        }),
        &[],
    )
}
