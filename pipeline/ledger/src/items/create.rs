//! Action items that a person makes.

use db::Error;
use outbox::announce::announce_created;
use records::{ActionItem, ActionItemId, EventKind, Timestamp, UserId};
use store::items::ItemRow;

use super::dates::Changed;
use crate::Ledger;

/// An action item to be created; it belongs to no conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewActionItem {
    pub id: ActionItemId,
    /// 1–500 characters.
    pub description: String,
    /// Done already.
    pub completed: bool,
    pub due_at: Option<Timestamp>,
}

impl Ledger {
    /// Stores action items, all or none, and gives them in the order in which they came. One that is done already was
    /// done now. Endpoints that subscribed to `action_item.created` get an event for each.
    pub async fn create_action_items(
        &self,
        user: &UserId,
        new: &[NewActionItem],
    ) -> Result<Vec<ActionItem>, Error> {
        let ids: Vec<&str> = new.iter().map(|item| item.id.as_str()).collect();
        let (mut transaction, now) = self.db.begin_creating(&ids).await?;
        let rows: Vec<ItemRow> = sqlx::query_as(include_str!("../../sql/items/insert.sql"))
            .bind(user.as_str())
            .bind(now)
            .bind(&ids)
            .bind(new.iter().map(|item| item.description.as_str()).collect::<Vec<_>>())
            .bind(new.iter().map(|item| item.completed).collect::<Vec<_>>())
            .bind(new.iter().map(|item| item.due_at).collect::<Vec<_>>())
            .fetch_all(&mut *transaction)
            .await?;
        let items: Vec<ActionItem> = rows.into_iter().map(ActionItem::from).collect();
        let changes: Vec<Changed> =
            items.iter().map(|item| Changed { before: None, after: item.clone() }).collect();
        let entries =
            announce_created(&mut transaction, user, EventKind::ActionItemCreated, &ids, now).await?;
        self.commit_changed(transaction, user, &changes, now).await?;
        if entries > 0 {
            self.db.waker().deliveries_written();
        }
        Ok(items)
    }
}
