//! Memories.

use records::Memory as Record;

use super::{
    Time,
    words::{MemoryCategory, MemoryVisibility},
};

shape! {
    /// A fact about the user.
    // DECISIONS §1, "memory".
    pub memory(memory: &Record) -> Memory {
        /// Its id.
        id: String = memory.id.as_str().to_owned(), "01993b23-518f-7e54-8f97-2f4091a23456";
        /// The fact, 1–500 characters.
        content: String = memory.content.clone(), "Is allergic to cats";
        /// Its kind.
        #[schemars(with = "MemoryCategory")]
        category: &'static str = memory.category.as_str(), "core";
        /// Who may see it.
        #[schemars(with = "MemoryVisibility")]
        visibility: &'static str = if memory.public { "public" } else { "private" }, "private";
        /// Tags of the user's choice.
        tags: Vec<String> = memory.tags.clone(), ["health"];
        /// When it was made.
        created_at: Time = memory.created_at.into(), "2026-11-21T09:00:00Z";
        /// When it last changed.
        updated_at: Time = memory.updated_at.into(), "2026-11-21T09:00:00Z";
        /// Created by the user, not extracted.
        manually_added: bool = memory.manually_added, true;
        /// True if the user created it, false if it was extracted.
        reviewed: bool = memory.reviewed, true;
        /// True if the user created it, null if it was extracted.
        user_review: Option<bool> = memory.user_review, true;
        /// Whether the user changed it.
        edited: bool = memory.edited, false;
        /// A rank among memories; always null so far.
        scoring: Option<String> = memory.scoring.clone(), null;
        /// The conversation it was extracted from.
        conversation_id: Option<String> = memory.conversation_id.as_ref().map(|id| id.as_str().to_owned()),
            null;
    }
}

shape! {
    /// Everything the batch created.
    pub created_memories(created: &[Record]) -> CreatedMemories {
        /// The memories, in the order in which they were sent.
        memories: Vec<Memory> = created.iter().map(memory).collect(), [Memory::example()];
        /// How many.
        created_count: usize = created.len(), 1;
    }
}
