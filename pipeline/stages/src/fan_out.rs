//! What to tell whom, planned without doing it: completion commits the plan, the fan-out carries it out.

use records::EventKind;

use crate::Finalized;

/// What to announce of a finalized conversation; that items or memories were created once for each that completion really
/// creates. Of a discarded one only that it was discarded (DECISIONS §4, "outcome").
pub fn plan_fan_out(finalized: &Finalized) -> Vec<EventKind> {
    let Finalized::Kept(kept) = finalized else { return vec![EventKind::ConversationDiscarded] };
    let mut plan = vec![EventKind::ConversationCompleted];
    if !kept.items.new.is_empty() {
        plan.push(EventKind::ActionItemCreated);
    }
    if !kept.memories.is_empty() {
        plan.push(EventKind::MemoryCreated);
    }
    plan
}
