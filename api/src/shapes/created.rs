//! The state of a conversation that was created, appended to, or finalized.

use records::{Conversation, ConversationId, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    conversation::{self, Conversation as Shown},
    words::{ConversationStatus, CreatedStatus},
};
use crate::shapes::Shape;

/// The state of a created conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedConversation {
    /// The conversation's id.
    id: String,
    /// Its status now.
    #[schemars(with = "CreatedStatus")]
    status: &'static str,
    /// Whether it was judged not worth keeping.
    discarded: bool,
}

impl Shape for CreatedConversation {
    fn example() -> Value {
        json!({ "id": conversation::ID, "status": "completed", "discarded": false })
    }
}

/// The answer to a create.
pub(crate) fn created(conversation: &Conversation) -> CreatedConversation {
    CreatedConversation {
        id: conversation.id.as_str().to_owned(),
        status: conversation.status.as_str(),
        discarded: conversation.discarded,
    }
}

/// The answer where its owner deleted it, before or meanwhile (DECISIONS §3, "client_session_id").
pub(crate) fn deleted(id: &ConversationId) -> CreatedConversation {
    CreatedConversation { id: id.as_str().to_owned(), status: "deleted", discarded: true }
}

/// The conversation's size after an append.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppendedSegments {
    /// The conversation's id.
    id: String,
    /// `in_progress`; in the answer to a late repeat, the present status.
    #[schemars(with = "ConversationStatus")]
    status: &'static str,
    /// How many segments it holds now.
    #[schemars(range(min = 0))]
    segment_count: i64,
}

impl Shape for AppendedSegments {
    fn example() -> Value {
        json!({ "id": conversation::ID, "status": "in_progress", "segment_count": 2 })
    }
}

/// The answer to an append.
pub(crate) fn appended(id: &ConversationId, status: Status, count: i64) -> AppendedSegments {
    AppendedSegments { id: id.as_str().to_owned(), status: status.as_str(), segment_count: count }
}

/// The conversation, processing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FinalizingConversation<'a> {
    /// As it is now.
    pub(crate) conversation: Shown<'a>,
    /// Always empty.
    #[schemars(with = "Vec<String>", length(max = 0))]
    pub(crate) messages: [(); 0],
}

impl Shape for FinalizingConversation<'static> {
    fn example() -> Value {
        json!({ "conversation": Shown::example(), "messages": [] })
    }
}
