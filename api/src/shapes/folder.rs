//! Folders.

use serde_json::{Value, json};
use store::FolderView;

use super::moment;

/// A folder (DECISIONS §1, "folder").
pub fn folder(folder: &FolderView) -> Value {
    json!({
        "id": folder.id.as_str(),
        "name": folder.name,
        "description": folder.description,
        "color": folder.color,
        "icon": folder.icon,
        "order": folder.order,
        "is_default": folder.is_default,
        "is_system": folder.is_system,
        "conversation_count": folder.conversation_count,
        "created_at": moment(folder.created_at),
        "updated_at": moment(folder.updated_at),
    })
}
