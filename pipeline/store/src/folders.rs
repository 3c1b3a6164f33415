//! Folders: reading them, and managing them.

mod change;

use records::{FolderId, Timestamp, UserId};

pub(crate) use self::change::hold_folder;
pub use self::change::{DeletedFolder, FolderChange, NewFolder};
use crate::Store;
use db::Error;

/// A folder as its owner sees it (DECISIONS §1, "folder").
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FolderView {
    #[sqlx(rename = "folder_id", try_from = "String")]
    pub id: FolderId,
    /// 1–100 characters.
    pub name: String,
    /// A rule in words for automatic filing, at most 500 characters.
    pub description: Option<String>,
    pub color: String,
    pub icon: String,
    /// Its place among the person's folders.
    #[sqlx(rename = "position")]
    pub order: i32,
    /// Whether clients offer it first.
    pub is_default: bool,
    /// One of those that every person begins with: it can be changed, not deleted.
    pub is_system: bool,
    /// How many conversations the list shows of it: completed, not discarded.
    pub conversation_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Store {
    /// A person's folders in their order.
    pub async fn folders(&self, user: &UserId) -> Result<Vec<FolderView>, Error> {
        Ok(sqlx::query_as(include_str!("../sql/folders/list.sql"))
            .bind(user.as_str())
            .fetch_all(self.db.pool())
            .await?)
    }

    /// Whether the person has that folder.
    pub async fn has_folder(&self, user: &UserId, folder: &FolderId) -> Result<bool, Error> {
        Ok(sqlx::query_scalar(include_str!("../sql/folders/is_there.sql"))
            .bind(user.as_str())
            .bind(folder.as_str())
            .fetch_one(self.db.pool())
            .await?)
    }
}
