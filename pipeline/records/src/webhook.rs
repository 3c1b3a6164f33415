//! What webhooks tell of, and how much.

use std::str::FromStr;

/// What an endpoint can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// `conversation.completed`: what an endpoint gets unless it asks for others.
    ConversationCompleted,
    /// `conversation.failed`
    ConversationFailed,
    /// `conversation.discarded`
    ConversationDiscarded,
    /// `action_item.created`
    ActionItemCreated,
    /// `memory.created`
    MemoryCreated,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::ConversationCompleted,
        Self::ConversationFailed,
        Self::ConversationDiscarded,
        Self::ActionItemCreated,
        Self::MemoryCreated,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConversationCompleted => "conversation.completed",
            Self::ConversationFailed => "conversation.failed",
            Self::ConversationDiscarded => "conversation.discarded",
            Self::ActionItemCreated => "action_item.created",
            Self::MemoryCreated => "memory.created",
        }
    }
}

impl FromStr for EventKind {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or(())
    }
}

/// What a delivery carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookFormat {
    /// The full conversation.
    Full,
    /// Ids and status.
    Thin,
    /// The conversation itself, without an envelope: for installed apps.
    Bare,
}

impl WebhookFormat {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Thin => "thin",
            Self::Bare => "bare",
        }
    }
}

impl FromStr for WebhookFormat {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Self::Full, Self::Thin, Self::Bare].into_iter().find(|format| format.as_str() == name).ok_or(())
    }
}
