//! Folders. Locks of changes: the person's row, the folder, its conversations.

use db::{Error, idempotency::forget_answers, lock_user, query, query_as, query_scalar};
use records::{FolderId, Timestamp, UserId};
use sqlx::PgConnection;

use crate::Store;

/// A folder as its owner sees it (DECISIONS §1, "folder").
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FolderView {
    #[sqlx(rename = "folder_id")]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFolder {
    pub id: FolderId,
    /// 1–100 characters.
    pub name: String,
    /// A rule in words for automatic filing, at most 500 characters.
    pub description: Option<String>,
    /// `#RRGGBB`; omitted: grey.
    pub color: Option<String>,
    /// The name of an icon; omitted: `folder`.
    pub icon: Option<String>,
    /// Its place; omitted: behind all others, or, when one has the last place there is, beside it.
    pub order: Option<i32>,
}

/// What to change of a folder; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderChange {
    /// 1–100 characters.
    pub name: Option<String>,
    /// A rule in words for automatic filing; `Some(None)`: nothing is filed there by itself.
    pub description: Option<Option<String>>,
    pub color: Option<String>,
    pub icon: Option<String>,
    pub order: Option<i32>,
}

/// What came of the deletion of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedFolder {
    /// Gone; this many conversations were taken out of it.
    Deleted {
        /// Conversations that are in no folder now.
        taken_out: u64,
    },
    /// It is one of those that every person begins with.
    System,
    Unknown,
}

impl Store {
    /// A person's folders in their order.
    pub async fn folders(&self, user: &UserId) -> Result<Vec<FolderView>, Error> {
        Ok(query_as!("folders/list.sql", user).fetch_all(self.db.pool()).await?)
    }

    pub async fn has_folder(&self, user: &UserId, folder: &FolderId) -> Result<bool, Error> {
        Ok(query_scalar!("folders/is_there.sql", user, folder).fetch_one(self.db.pool()).await?)
    }

    /// Stores a folder. `None`: no such person.
    pub async fn create_folder(&self, user: &UserId, new: &NewFolder) -> Result<Option<FolderView>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // Held, so that two folders at once get two places.
        lock_user(&mut transaction, user).await?;
        let stored = query_as!(
            "folders/insert.sql",
            user,
            new.id.as_str(),
            &new.name,
            &new.description,
            &new.color,
            &new.icon,
            new.order,
            now
        )
        .fetch_optional(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(stored)
    }

    /// Changes a folder. `None`: no such folder.
    pub async fn change_folder(
        &self,
        user: &UserId,
        folder: &FolderId,
        change: &FolderChange,
    ) -> Result<Option<FolderView>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let stored = query_as!(
            "folders/update.sql",
            user,
            folder,
            now,
            &change.name,
            change.description.is_some(),
            change.description.clone().flatten(),
            &change.color,
            &change.icon,
            change.order
        )
        .fetch_optional(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(stored)
    }

    /// Deletes a folder; its conversations stay and are in none. Of many, a batch after the other is taken out first, each in a transaction
    /// of its own: cut off, the folder is there with fewer. The person's row is locked first: a completion that files into the folder
    /// comes before this, or finds it gone.
    pub async fn delete_folder(&self, user: &UserId, folder: &FolderId) -> Result<DeletedFolder, Error> {
        let mut taken_out = 0;
        loop {
            let (mut transaction, now) = self.db.begin().await?;
            lock_user(&mut transaction, user).await?;
            let is_system: Option<bool> =
                query_scalar!("folders/lock.sql", user, folder).fetch_optional(&mut *transaction).await?;
            match is_system {
                None => return Ok(DeletedFolder::Unknown),
                Some(true) => return Ok(DeletedFolder::System),
                Some(false) => {}
            }
            let emptied = query!("folders/empty.sql", user, folder, now, TAKEN_OUT.cast_signed())
                .execute(&mut *transaction)
                .await?
                .rows_affected();
            taken_out += emptied;
            if emptied < TAKEN_OUT {
                query!("folders/delete.sql", user, folder).execute(&mut *transaction).await?;
                forget_answers(&mut transaction, user, &[folder.as_str()]).await?;
                transaction.commit().await?;
                return Ok(DeletedFolder::Deleted { taken_out });
            }
            transaction.commit().await?;
        }
    }
}

/// Conversations that are taken out of a folder by one transaction.
const TAKEN_OUT: u64 = 1_000;

/// Whether the person has that folder, which then stays until the present transaction ends.
pub(crate) async fn hold_folder(
    connection: &mut PgConnection,
    user: &UserId,
    folder: &FolderId,
) -> Result<bool, Error> {
    let held: Option<String> =
        query_scalar!("folders/hold.sql", user, folder).fetch_optional(connection).await?;
    Ok(held.is_some())
}
