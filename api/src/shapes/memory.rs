//! Memories.

use records::Memory;
use serde_json::{Value, json};

use super::moment;

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
