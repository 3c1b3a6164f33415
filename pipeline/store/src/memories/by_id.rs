//! Memories by their ids.

use db::Error;
use records::{Memory, UserId};

use super::MemoryRow;
use crate::Store;

impl Store {
    /// Those of the named memories that still exist, in the order of their names.
    pub async fn memories_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<Memory>, Error> {
        let rows: Vec<MemoryRow> = sqlx::query_as(include_str!("../../sql/memories/by_ids.sql"))
            .bind(user.as_str())
            .bind(ids)
            .fetch_all(self.db.pool())
            .await?;
        rows.into_iter().map(Memory::try_from).collect()
    }
}
