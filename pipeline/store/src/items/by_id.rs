//! Action items by their ids.

use db::Error;
use records::{ActionItem, UserId};

use super::ItemRow;
use crate::Store;

impl Store {
    /// Those of the named items that still exist, in the order of their names.
    pub async fn action_items_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<ActionItem>, Error> {
        let rows: Vec<ItemRow> = sqlx::query_as(include_str!("../../sql/items/by_ids.sql"))
            .bind(user.as_str())
            .bind(ids)
            .fetch_all(self.db.pool())
            .await?;
        Ok(rows.into_iter().map(ActionItem::from).collect())
    }
}
