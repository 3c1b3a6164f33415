//! A user's own changes of action items: the item, its reminder and its events in one transaction.

use db::{Error, array, idempotency::forget_answers, query, query_as};
use outbox::{
    announce::announce_created,
    deliveries::forget_objects,
    reminders::{self, Due, lock_subscriptions},
};
use records::{ActionItem, ActionItemId, EventKind, Timestamp, UserId};
use sqlx::PgConnection;

use crate::Ledger;

/// An action item to be created; it belongs to no conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewActionItem {
    pub id: ActionItemId,
    /// 1–500 characters.
    pub description: String,
    pub completed: bool,
    pub due_at: Option<Timestamp>,
}

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemChange {
    /// 1–500 characters.
    pub description: Option<String>,
    /// `true` notes when it was done, unless it was done already; `false` clears that.
    pub completed: Option<bool>,
    /// When it is due; `Some(None)` clears it.
    pub due_at: Option<Option<Timestamp>>,
}

/// An item that is open and has a date.
fn awaited(item: &ActionItem) -> Option<Due> {
    item.due_at.filter(|_| !item.completed).map(|due_at| Due::of(item.id.as_str(), due_at))
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
        let items: Vec<ActionItem> = query_as!(
            "items/insert.sql",
            user,
            now,
            &ids,
            array(new, |item| item.description.as_str()),
            array(new, |item| item.completed),
            array(new, |item| item.due_at)
        )
        .fetch_all(&mut *transaction)
        .await?;
        let entries =
            announce_created(&mut transaction, user, EventKind::ActionItemCreated, &ids, now).await?;
        let dues: Vec<Due> = items.iter().filter_map(awaited).collect();
        let pushes = reminders::schedule(&mut transaction, user, &dues, now).await?;
        transaction.commit().await?;
        self.outbox.wake_pushes(pushes);
        if entries > 0 {
            self.db.waker().deliveries_written();
        }
        Ok(items)
    }

    /// Changes an action item. What a person touched is spared by later revisions of its conversation. `None`: no
    /// such item.
    pub async fn change_action_item(
        &self,
        user: &UserId,
        item: &ActionItemId,
        change: &ItemChange,
    ) -> Result<Option<ActionItem>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(before) = lock(&mut transaction, user, item).await? else { return Ok(None) };
        let after: ActionItem = query_as!(
            "items/update.sql",
            user,
            item,
            now,
            &change.description,
            change.completed,
            change.due_at.is_some(),
            change.due_at.flatten()
        )
        .fetch_one(&mut *transaction)
        .await?;
        let mut pushes = 0;
        match (awaited(&before), awaited(&after)) {
            // The date was set or changed: reminders are sent now, and once more when it comes.
            (_, Some(due)) if before.due_at != Some(due.due_at) => {
                pushes = reminders::schedule(&mut transaction, user, &[due], now).await?;
            }
            // Open again with the date that it had: a reminder is sent when it comes.
            (None, Some(due)) => reminders::resume(&mut transaction, user, &[due], now).await?,
            (Some(_), None) => reminders::cancel(&mut transaction, user, &[item.as_str()], now).await?,
            _ => {}
        }
        transaction.commit().await?;
        self.outbox.wake_pushes(pushes);
        Ok(Some(after))
    }

    /// Deletes an action item for good, with its undelivered events. `false`: no such item.
    pub async fn delete_action_item(&self, user: &UserId, item: &ActionItemId) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let Some(before) = lock(&mut transaction, user, item).await? else { return Ok(false) };
        // Its reminder and its pushes go with it.
        lock_subscriptions(&mut transaction, user).await?;
        query!("items/delete.sql", user, item).execute(&mut *transaction).await?;
        let conversation = before.conversation_id.as_ref().map(|id| id.as_str());
        let held_by: Vec<&str> = [Some(item.as_str()), conversation].into_iter().flatten().collect();
        forget_answers(&mut transaction, user, &held_by).await?;
        forget_objects(&mut transaction, user, conversation, &[item.as_str()]).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

/// Reads an item and holds it, so that what was before is what the change changes.
async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    item: &ActionItemId,
) -> Result<Option<ActionItem>, sqlx::Error> {
    query_as!("items/lock.sql", user, item).fetch_optional(connection).await
}
