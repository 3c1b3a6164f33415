//! What receivers of pushes read (DECISIONS §3, "push").

use outbox::{ClaimedChatPush, ClaimedPush};
use serde_json::json;

use super::moment;

/// The payload of a push: the same for browsers and webhooks, when a due date was set and when it has come.
pub fn push_body(push: &ClaimedPush) -> Vec<u8> {
    let body = json!({
        "type": "action_item_reminder",
        "action_item_id": push.action_item_id.as_str(),
        "description": push.description,
        "due_at": moment(push.due_at),
    });
    body.to_string().into_bytes()
}

/// How much of a message a push holds: a push service takes 4 KiB, encrypted.
const MAX_TEXT_BYTES: usize = 1_000;

/// The payload of the push of an app's message.
pub fn chat_push_body(push: &ClaimedChatPush) -> Vec<u8> {
    let end = push.text.floor_char_boundary(MAX_TEXT_BYTES);
    let body = json!({
        "type": "chat_message",
        "message_id": push.message_id,
        "app_id": push.app_id,
        "app_name": push.app_name,
        "target": push.target,
        "text": push.text.get(..end).unwrap_or_default(),
    });
    body.to_string().into_bytes()
}
