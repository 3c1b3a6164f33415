//! Action items, memories and folders.

use records::{ActionItem, Folder, Memory};
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

/// A memory (DECISIONS §1, "memory").
pub fn memory(memory: &Memory) -> Value {
    json!({
        "id": memory.id.as_str(),
        "content": memory.content,
        "category": memory.category.as_str(),
        "visibility": if memory.public { "public" } else { "private" },
        "tags": memory.tags,
        "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at),
        "manually_added": memory.manually_added,
        "reviewed": memory.reviewed,
        "user_review": memory.user_review,
        "edited": memory.edited,
        "scoring": memory.scoring,
        "conversation_id": memory.conversation_id.as_ref().map(|id| id.as_str()),
    })
}

/// A folder: what the record holds of DECISIONS §1, "folder".
pub fn folder(folder: &Folder) -> Value {
    json!({ "id": folder.id.as_str(), "name": folder.name, "description": folder.description })
}
