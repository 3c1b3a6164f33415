//! Things as they look, for the document.

use serde_json::{Value, json};

/// A conversation's id.
pub(super) const CONVERSATION: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";

/// A conversation.
pub(super) fn conversation() -> Value {
    json!({
        "id": CONVERSATION,
        "created_at": "2026-11-21T09:00:00Z",
        "started_at": "2026-11-21T08:30:00Z",
        "finished_at": "2026-11-21T08:35:00Z",
        "language": "en",
        "source": "phone",
        "structured": {
            "title": "Release and Launch",
            "overview": "About the release plan for the mobile app.",
            "emoji": "💼",
            "category": "work",
            "action_items": [{
                "description": "Update the pricing page", "completed": false,
                "created_at": "2026-11-21T09:00:01Z", "updated_at": "2026-11-21T09:00:01Z",
                "due_at": "2026-11-30T22:59:00Z", "completed_at": null,
            }],
            "events": [{
                "title": "Launch meeting", "description": "", "start": "2026-12-08T13:00:00Z",
                "duration": 30, "created": false,
            }],
        },
        "folder_id": "work",
        "folder_name": "Work",
        "geolocation": { "latitude": 52.52, "longitude": 13.405, "address": "Berlin" },
        "status": "completed",
        "discarded": false,
        "starred": false,
        "visibility": "private",
        "updated_at": "2026-11-21T09:00:01.204113Z",
    })
}

/// The answer to a create.
pub(super) fn created() -> Value {
    json!({ "id": CONVERSATION, "status": "completed", "discarded": false })
}

/// What is said in two breaths.
pub(super) fn segments() -> Value {
    json!([
        { "text": "Can you send the report on Monday?", "speaker": "SPEAKER_01", "start": 0, "end": 4 },
        { "id": "s2", "text": "Yes, I will.", "is_user": true, "start": 4, "end": 6 },
    ])
}

/// A finalization's job.
pub(super) fn job() -> Value {
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

/// An endpoint.
pub(super) fn webhook() -> Value {
    json!({
        "id": "01993b20-1d4b-7a10-8a53-8b0c5d6e7f80",
        "url": "https://example.com/hook",
        "events": ["conversation.completed"],
        "format": "full",
        "enabled": true,
        "disabled_reason": null,
        "failing_since": null,
        "last_success_at": "2026-11-21T09:00:02Z",
        "created_at": "2026-11-20T12:00:00Z",
        "updated_at": "2026-11-20T12:00:00Z",
    })
}

/// A delivery.
pub(super) fn delivery() -> Value {
    json!({
        "id": "01993b20-2e5c-7b21-9c64-9c1d6e7f8091",
        "event": "conversation.completed",
        "conversation_id": CONVERSATION,
        "status": "delivered",
        "tries": 1,
        "last_status": 200,
        "last_error": null,
        "next_at": null,
        "created_at": "2026-11-21T09:00:01Z",
        "finished_at": "2026-11-21T09:00:02Z",
    })
}

/// A key.
pub(super) fn key() -> Value {
    json!({
        "id": "01993b21-3f6d-7c32-8d75-0d2e7f809123",
        "name": "laptop",
        "key_prefix": "lsk_1a2B…9xYz",
        "scopes": ["conversations:read", "conversations:write"],
        "created_at": "2026-11-20T12:00:00Z",
        "last_used_at": "2026-11-21T09:00:00Z",
        "expires_at": null,
        "revoked_at": null,
    })
}

/// The same thing with one field more.
pub(super) fn with(mut thing: Value, name: &str, value: &str) -> Value {
    thing[name] = value.into();
    thing
}
