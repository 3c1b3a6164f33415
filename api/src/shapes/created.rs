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

shape! {
    /// The state of a created conversation.
    pub created(conversation: &Conversation) -> CreatedConversation {
        /// The conversation's id.
        id: String = conversation.id.as_str().to_owned(), (conversation::ID);
        /// Its status now.
        #[schemars(with = "CreatedStatus")]
        status: &'static str = conversation.status.as_str(), "completed";
        /// Whether it was judged not worth keeping.
        discarded: bool = conversation.discarded, false;
    }
}

/// The answer where its owner deleted it, before or meanwhile (DECISIONS §3, "client_session_id").
pub(crate) fn deleted(id: &ConversationId) -> CreatedConversation {
    CreatedConversation { id: id.as_str().to_owned(), status: "deleted", discarded: true }
}

shape! {
    /// The conversation's size after an append.
    pub appended(id: &ConversationId, status: Status, count: i64) -> AppendedSegments {
        /// The conversation's id.
        id: String = id.as_str().to_owned(), (conversation::ID);
        /// `in_progress`; in the answer to a late repeat, the present status.
        #[schemars(with = "ConversationStatus")]
        status: &'static str = status.as_str(), "in_progress";
        /// How many segments it holds now.
        #[schemars(range(min = 0))]
        segment_count: i64 = count, 2;
    }
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
