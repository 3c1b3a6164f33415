//! Action items.

use records::ActionItem;
use serde_json::{Value, json};

use super::moment;

/// An action item (spec, "Action item").
pub fn action_item(item: &ActionItem) -> Value {
    json!({
        "id": item.id.as_str(),
        "description": item.description,
        "completed": item.completed,
        "created_at": moment(item.created_at),
        "updated_at": moment(item.updated_at),
        "due_at": item.due_at.map(moment),
        "completed_at": item.completed_at.map(moment),
        "conversation_id": item.conversation_id.as_ref().map(|id| id.as_str()),
    })
}
