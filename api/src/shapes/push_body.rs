//! What receivers of pushes read (DECISIONS §3, "push").

use outbox::{ClaimedPush, Pushed};
use serde_json::json;

use super::moment;

/// How much of a message a push holds: a push service takes 4 KiB, encrypted.
const MAX_TEXT_BYTES: usize = 1_000;

/// The payload of a push: the same for browsers and webhooks, and of a reminder when a due date was set and when it has come.
pub fn push_body(push: &ClaimedPush) -> Vec<u8> {
    let body = match &push.pushed {
        Pushed::Reminder { action_item_id, description, due_at } => json!({
            "type": "action_item_reminder",
            "action_item_id": action_item_id.as_str(),
            "description": description,
            "due_at": moment(*due_at),
        }),
        Pushed::Message { message_id, app_id, app_name, target, text } => json!({
            "type": "chat_message",
            "message_id": message_id,
            "app_id": app_id,
            "app_name": app_name,
            "target": target,
            "text": text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default(),
        }),
    };
    body.to_string().into_bytes()
}
