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
        "app_id": null,
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

/// An action item.
pub(super) fn action_item() -> Value {
    json!({
        "id": "01993b22-407e-7d43-8e86-1e3f80912345",
        "description": "Call the dentist",
        "completed": false,
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
        "due_at": "2026-11-27T16:00:00Z",
        "completed_at": null,
        "conversation_id": null,
    })
}

/// An action item as it is sent.
pub(super) fn new_action_item() -> Value {
    json!({ "description": "Call the dentist", "due_at": "2026-11-27T17:00:00+01:00" })
}

/// A memory.
pub(super) fn memory() -> Value {
    json!({
        "id": "01993b23-518f-7e54-8f97-2f4091a23456",
        "content": "Is allergic to cats",
        "category": "core",
        "visibility": "private",
        "tags": ["health"],
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
        "manually_added": true,
        "reviewed": true,
        "user_review": true,
        "edited": false,
        "scoring": null,
        "conversation_id": null,
    })
}

/// A memory as it is sent.
pub(super) fn new_memory() -> Value {
    json!({ "content": "Is allergic to cats", "tags": ["health"] })
}

/// A goal.
pub(super) fn goal() -> Value {
    json!({
        "id": "goal_01993b24-62a0-7f65-80a8-3051a2b34567",
        "title": "Read a book a month",
        "goal_type": "numeric",
        "target_value": 12.0,
        "current_value": 3.0,
        "min_value": 0.0,
        "max_value": 10.0,
        "unit": "books",
        "is_active": true,
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
    })
}

/// A folder.
pub(super) fn folder() -> Value {
    json!({
        "id": "work",
        "name": "Work",
        "description": "Meetings, projects, colleagues, customers and everything about a job",
        "color": "#6B7280",
        "icon": "folder",
        "order": 0,
        "is_default": false,
        "is_system": true,
        "conversation_count": 4,
        "created_at": "2026-11-20T12:00:00Z",
        "updated_at": "2026-11-20T12:00:00Z",
    })
}

/// A person's settings.
pub(super) fn profile() -> Value {
    json!({
        "id": "ada",
        "name": "Ada",
        "time_zone": "Europe/London",
        "language": "en",
        "requires_byok": false,
        "apps": ["minutes"],
        "created_at": "2026-11-20T12:00:00Z",
    })
}

/// A person whom the user knows.
pub(super) fn person() -> Value {
    json!({
        "id": "01993b25-73b1-7076-81b9-4162b3c45678",
        "name": "Helena",
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
    })
}

/// Where a person is reminded.
pub(super) fn subscription() -> Value {
    json!({
        "id": "8d1f6c1e-3f0b-5a0e-9a57-1e2c7c514f8d",
        "kind": "webhook",
        "url": "https://example.com/remind",
        "failing_since": null,
        "last_success_at": null,
        "created_at": "2026-11-21T09:00:00Z",
    })
}

/// The same thing with one field more.
pub(super) fn with(thing: Value, name: &str, value: &str) -> Value {
    crate::shapes::with(thing, name, value)
}
