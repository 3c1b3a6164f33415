//! What to tell whom, planned without doing it: completion commits the plan, the fan-out carries it out.

use crate::Finalized;

/// The events of a run (DECISIONS §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The conversation is completed.
    ConversationCompleted,
    /// The conversation was judged not worth keeping.
    ConversationDiscarded,
    /// New action items; sent once per item that completion really creates.
    ActionItemCreated,
    /// New memories; sent once per memory that completion really creates.
    MemoryCreated,
}

impl Announcement {
    /// The event's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConversationCompleted => "conversation.completed",
            Self::ConversationDiscarded => "conversation.discarded",
            Self::ActionItemCreated => "action_item.created",
            Self::MemoryCreated => "memory.created",
        }
    }
}

/// What to announce of a finalized conversation. Of a discarded one only that it was discarded (DECISIONS §4, "outcome").
pub fn plan_fan_out(finalized: &Finalized) -> Vec<Announcement> {
    let Finalized::Kept(kept) = finalized else {
        return vec![Announcement::ConversationDiscarded];
    };
    let mut plan = vec![Announcement::ConversationCompleted];
    if !kept.items.new.is_empty() {
        plan.push(Announcement::ActionItemCreated);
    }
    if !kept.memories.is_empty() {
        plan.push(Announcement::MemoryCreated);
    }
    plan
}
