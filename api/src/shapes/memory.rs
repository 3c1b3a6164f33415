//! Memories.

use records::Memory as Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Time,
    words::{MemoryCategory, MemoryVisibility},
};
use crate::shapes::Shape;

/// A fact about the user.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// Its id.
    id: String,
    /// The fact, 1–500 characters.
    content: String,
    /// Its kind.
    #[schemars(with = "MemoryCategory")]
    category: &'static str,
    /// Who may see it.
    #[schemars(with = "MemoryVisibility")]
    visibility: &'static str,
    /// Tags of the user's choice.
    tags: Vec<String>,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// Created by the user, not extracted.
    manually_added: bool,
    /// True if the user created it, false if it was extracted.
    reviewed: bool,
    /// True if the user created it, null if it was extracted.
    user_review: Option<bool>,
    /// Whether the user changed it.
    edited: bool,
    /// A rank among memories; always null so far.
    scoring: Option<String>,
    /// The conversation it was extracted from.
    conversation_id: Option<String>,
}

impl Shape for Memory {
    fn example() -> Value {
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
}

/// A memory (DECISIONS §1, "memory").
pub fn memory(memory: &Record) -> Memory {
    Memory {
        id: memory.id.as_str().to_owned(),
        content: memory.content.clone(),
        category: memory.category.as_str(),
        visibility: if memory.public { "public" } else { "private" },
        tags: memory.tags.clone(),
        created_at: memory.created_at.into(),
        updated_at: memory.updated_at.into(),
        manually_added: memory.manually_added,
        reviewed: memory.reviewed,
        user_review: memory.user_review,
        edited: memory.edited,
        scoring: memory.scoring.clone(),
        conversation_id: memory.conversation_id.as_ref().map(|id| id.as_str().to_owned()),
    }
}

/// Everything the batch created.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedMemories {
    /// The memories, in the order in which they were sent.
    memories: Vec<Memory>,
    /// How many.
    created_count: usize,
}

impl Shape for CreatedMemories {
    fn example() -> Value {
        json!({ "memories": [Memory::example()], "created_count": 1 })
    }
}

/// The answer to a batch.
pub(crate) fn created_memories(created: &[Record]) -> CreatedMemories {
    CreatedMemories { memories: created.iter().map(memory).collect(), created_count: created.len() }
}
