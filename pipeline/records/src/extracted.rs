//! What is extracted from conversations, and folders: action items, memories.

use crate::{ActionItemId, ConversationId, FolderId, MemoryCategory, MemoryId, Timestamp};

/// Something to be done (spec, "Action item").
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ActionItem {
    /// Its id.
    #[sqlx(rename = "action_item_id")]
    pub id: ActionItemId,
    /// 1–500 characters.
    pub description: String,
    /// Done or not.
    pub completed: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it is due.
    pub due_at: Option<Timestamp>,
    /// When it was done.
    pub completed_at: Option<Timestamp>,
    /// The conversation it was heard in; `None` for standalone items.
    pub conversation_id: Option<ConversationId>,
    /// Its place among the items that were made at the same moment: the order in which they were said or sent.
    pub position: i32,
}

/// Something worth remembering about the person (DECISIONS §1).
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Memory {
    /// Its id.
    #[sqlx(rename = "memory_id")]
    pub id: MemoryId,
    /// 1–500 characters.
    pub content: String,
    /// One of the ten.
    #[sqlx(try_from = "String")]
    pub category: MemoryCategory,
    /// `true` for public, `false` for private.
    pub public: bool,
    /// Free labels.
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Made by hand and not by the pipeline.
    pub manually_added: bool,
    /// Looked at by the person.
    pub reviewed: bool,
    /// The person's verdict, when one was given.
    pub user_review: Option<bool>,
    /// Changed by the person.
    pub edited: bool,
    /// A ranking aid, when one was computed.
    pub scoring: Option<String>,
    /// The conversation it was heard in.
    pub conversation_id: Option<ConversationId>,
}

/// A group of conversations (DECISIONS §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its id.
    pub id: FolderId,
    /// 1–100 characters.
    pub name: String,
    /// A rule in words for automatic filing.
    pub description: Option<String>,
}
