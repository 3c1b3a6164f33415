//! A folder's row with what it holds, read into [`FolderView`].

use records::{FolderId, Timestamp};

use super::FolderView;

/// What [`ViewRow`] reads of a folder `f`.
macro_rules! view_columns {
    () => {
        "f.folder_id, f.name, f.description, f.color, f.icon, f.position, f.is_default, f.is_system, f.created_at, \
         f.updated_at, (select count(*) from conversations c where c.user_id = f.user_id \
             and c.folder_id = f.folder_id and c.status = 'completed' and not c.discarded) as conversation_count"
    };
}
pub(super) use view_columns;

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
