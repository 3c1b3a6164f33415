//! A folder's row with what it holds, read into [`FolderView`].

use records::{FolderId, Timestamp};

use super::FolderView;

/// The columns as the table holds them, and the count.
#[derive(sqlx::FromRow)]
pub(super) struct ViewRow {
    folder_id: String,
    name: String,
    description: Option<String>,
    color: String,
    icon: String,
    position: i32,
    is_default: bool,
    is_system: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    conversation_count: i64,
}

impl From<ViewRow> for FolderView {
    fn from(row: ViewRow) -> Self {
        Self {
            id: FolderId::new(row.folder_id),
            name: row.name,
            description: row.description,
            color: row.color,
            icon: row.icon,
            order: row.position,
            is_default: row.is_default,
            is_system: row.is_system,
            conversation_count: row.conversation_count,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
