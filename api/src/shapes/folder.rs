//! Folders.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::FolderView;

use super::Time;
use crate::shapes::Shape;

/// A folder for conversations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Folder {
    /// Its id, for the filter `folder_id`.
    id: String,
    /// Its name, 1–100 characters.
    name: String,
    /// The rule, in words, by which conversations are filed here.
    description: Option<String>,
    /// Such as `#6B7280`.
    color: String,
    /// A name or an emoji.
    icon: String,
    /// Its place among folders.
    order: i32,
    /// Whether clients offer it first; always false so far.
    is_default: bool,
    /// It exists for every user.
    is_system: bool,
    /// How many conversations are in it.
    #[schemars(range(min = 0))]
    conversation_count: i64,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
}

impl Shape for Folder {
    fn example() -> Value {
        json!({
            "id": "work",
            "name": "Work",
            "description": "Meetings, projects, colleagues, customers and everything about a job",
            "color": "#6B7280",
            "icon": "folder",
            "order": 0,
            "is_default": false,
            "is_system": true,
            "conversation_count": 4,
            "created_at": "2026-11-20T12:00:00Z",
            "updated_at": "2026-11-20T12:00:00Z",
        })
    }
}

/// A folder (DECISIONS §1, "folder").
pub fn folder(folder: &FolderView) -> Folder {
    Folder {
        id: folder.id.as_str().to_owned(),
        name: folder.name.clone(),
        description: folder.description.clone(),
        color: folder.color.clone(),
        icon: folder.icon.clone(),
        order: folder.order,
        is_default: folder.is_default,
        is_system: folder.is_system,
        conversation_count: folder.conversation_count,
        created_at: folder.created_at.into(),
        updated_at: folder.updated_at.into(),
    }
}
