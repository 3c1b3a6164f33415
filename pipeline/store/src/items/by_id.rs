//! Action items by their ids.

use db::{Doing, Error};
use records::{ActionItem, UserId};
use sqlx::AssertSqlSafe;

use super::{ITEM_COLUMNS, ItemRow};
use crate::Store;

impl Store {
    /// Those of the named items that still exist, in the order of their names.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn action_items_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<ActionItem>, Error> {
        let sql = format!(
            "select {ITEM_COLUMNS} from action_items where user_id = $1 and action_item_id = any($2) \
             order by array_position($2, action_item_id)"
        );
        // Only constants of ours are in the text.
        let rows: Vec<ItemRow> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(user.as_str())
            .bind(ids)
            .fetch_all(self.db.pool())
            .await
            .doing("reading action items")?;
        Ok(rows.into_iter().map(ActionItem::from).collect())
    }
}
