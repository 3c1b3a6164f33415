//! Action items.

use records::ActionItem as Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::Time;
use crate::shapes::Shape;

/// An action item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionItem {
    /// Its id.
    id: String,
    /// What is to be done, 1–500 characters.
    description: String,
    /// Whether it is done.
    completed: bool,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// When it is due.
    due_at: Option<Time>,
    /// When it was done.
    completed_at: Option<Time>,
    /// The conversation it was extracted from; null if the user created it.
    conversation_id: Option<String>,
}

impl Shape for ActionItem {
    fn example() -> Value {
        json!({
            "id": "01993b22-407e-7d43-8e86-1e3f80912345",
            "description": "Call the dentist",
            "completed": false,
            "created_at": "2026-11-21T09:00:00Z",
            "updated_at": "2026-11-21T09:00:00Z",
            "due_at": "2026-11-27T16:00:00Z",
            "completed_at": null,
            "conversation_id": null,
        })
    }
}

/// An action item (spec, "Action item").
pub fn action_item(item: &Record) -> ActionItem {
    ActionItem {
        id: item.id.as_str().to_owned(),
        description: item.description.clone(),
        completed: item.completed,
        created_at: item.created_at.into(),
        updated_at: item.updated_at.into(),
        due_at: item.due_at.map(Time::from),
        completed_at: item.completed_at.map(Time::from),
        conversation_id: item.conversation_id.as_ref().map(|id| id.as_str().to_owned()),
    }
}

/// Everything the batch created.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedActionItems {
    /// The action items, in the order in which they were sent.
    action_items: Vec<ActionItem>,
    /// How many.
    created_count: usize,
}

impl Shape for CreatedActionItems {
    fn example() -> Value {
        json!({ "action_items": [ActionItem::example()], "created_count": 1 })
    }
}

/// The answer to a batch.
pub(crate) fn created_action_items(created: &[Record]) -> CreatedActionItems {
    CreatedActionItems {
        action_items: created.iter().map(action_item).collect(),
        created_count: created.len(),
    }
}
