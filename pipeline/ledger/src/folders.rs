//! Folders: reading them (managing them is a later room's matter).

use records::{Folder, FolderId, UserId};

use sqlx::PgConnection;

use crate::{
    Ledger,
    error::{Doing, Error},
};

impl Ledger {
    /// A person's folders in their order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn folders(&self, user: &UserId) -> Result<Vec<Folder>, Error> {
        let mut connection = self.pool.acquire().await.doing("reading folders")?;
        read_folders(&mut connection, user).await
    }

    /// Whether the person has that folder.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn has_folder(&self, user: &UserId, folder: &FolderId) -> Result<bool, Error> {
        sqlx::query_scalar("select exists (select from folders where user_id = $1 and folder_id = $2)")
            .bind(user.as_str())
            .bind(folder.as_str())
            .fetch_one(&self.pool)
            .await
            .doing("looking for a folder")
    }
}

/// The columns as the table holds them.
#[derive(sqlx::FromRow)]
pub(crate) struct FolderRow {
    folder_id: String,
    name: String,
    description: Option<String>,
}

impl From<FolderRow> for Folder {
    fn from(row: FolderRow) -> Self {
        Self { id: FolderId::new(row.folder_id), name: row.name, description: row.description }
    }
}

/// Reads a person's folders in their order.
pub(crate) async fn read_folders(connection: &mut PgConnection, user: &UserId) -> Result<Vec<Folder>, Error> {
    let rows: Vec<FolderRow> = sqlx::query_as(
        "select folder_id, name, description from folders where user_id = $1 order by position, folder_id",
    )
    .bind(user.as_str())
    .fetch_all(connection)
    .await
    .doing("reading folders")?;
    Ok(rows.into_iter().map(Folder::from).collect())
}
