//! Memories by their ids.

use db::{Doing, Error};
use records::{Memory, UserId};
use sqlx::AssertSqlSafe;

use super::{MEMORY_COLUMNS, MemoryRow};
use crate::Store;

impl Store {
    /// Those of the named memories that still exist, in the order of their names.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn memories_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<Memory>, Error> {
        let sql = format!(
            "select {MEMORY_COLUMNS} from memories where user_id = $1 and memory_id = any($2) \
             order by array_position($2, memory_id)"
        );
        // Only constants of ours are in the text.
        let rows: Vec<MemoryRow> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(user.as_str())
            .bind(ids)
            .fetch_all(self.db.pool())
            .await
            .doing("reading memories")?;
        rows.into_iter().map(Memory::try_from).collect()
    }
}
