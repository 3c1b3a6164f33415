//! What webhooks tell of, and how much.

use crate::named;

named! {
    /// What an endpoint can subscribe to; `conversation.completed` is what it gets unless it asks for others.
    EventKind {
        ConversationCompleted = "conversation.completed", ConversationFailed = "conversation.failed",
        ConversationDiscarded = "conversation.discarded", ActionItemCreated = "action_item.created",
        MemoryCreated = "memory.created",
    }
}

named! {
    /// What a delivery carries: the full conversation; ids and status; or the conversation itself, without an envelope, for
    /// installed apps.
    WebhookFormat { Full = "full", Thin = "thin", Bare = "bare" }
}
