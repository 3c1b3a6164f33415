//! What receivers of pushes read (DECISIONS §3, "push").

use ledger::ClaimedPush;
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
