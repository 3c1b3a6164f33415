//! Action items.

use records::ActionItem as Record;

use super::Time;

shape! {
    /// An action item.
    // Spec, "Action item".
    pub action_item(item: &Record) -> ActionItem {
        /// Its id.
        id: String = item.id.as_str().to_owned(), "01993b22-407e-7d43-8e86-1e3f80912345";
        /// What is to be done, 1–500 characters.
        description: String = item.description.clone(), "Call the dentist";
        /// Whether it is done.
        completed: bool = item.completed, false;
        /// When it was made.
        created_at: Time = item.created_at.into(), "2026-11-21T09:00:00Z";
        /// When it last changed.
        updated_at: Time = item.updated_at.into(), "2026-11-21T09:00:00Z";
        /// When it is due.
        due_at: Option<Time> = item.due_at.map(Time::from), "2026-11-27T16:00:00Z";
        /// When it was done.
        completed_at: Option<Time> = item.completed_at.map(Time::from), null;
        /// The conversation it was extracted from; null if the user created it.
        conversation_id: Option<String> = item.conversation_id.as_ref().map(|id| id.as_str().to_owned()),
            null;
    }
}

shape! {
    /// Everything the batch created.
    pub created_action_items(created: &[Record]) -> CreatedActionItems {
        /// The action items, in the order in which they were sent.
        action_items: Vec<ActionItem> = created.iter().map(action_item).collect(), [ActionItem::example()];
        /// How many.
        created_count: usize = created.len(), 1;
    }
}
