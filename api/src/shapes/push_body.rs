//! What receivers of pushes read (DECISIONS §3, "push").

use outbox::{ClaimedPush, Pushed};
use serde_json::json;

use super::moment;

/// How much of a message a push holds, as JSON writes it (a control character in six bytes): a push service takes 4 KiB,
/// encrypted.
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
            "text": beginning(text),
        }),
    };
    body.to_string().into_bytes()
}

/// What fits of a text.
fn beginning(text: &str) -> String {
    let mut left = MAX_TEXT_BYTES;
    let fits = |character: &char| {
        let written = match character {
            '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
            '\0'..'\u{20}' => 6,
            _ => character.len_utf8(),
        };
        left.checked_sub(written).inspect(|rest| left = *rest).is_some()
    };
    text.chars().take_while(fits).collect()
}
