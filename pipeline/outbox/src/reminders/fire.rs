//! The moment has come: reminders become pushes.

use db::Error;
use records::{Timestamp, UserId};

use super::{Notice, Noticed, write_pushes};
use crate::Outbox;

#[derive(sqlx::FromRow)]
struct Fired {
    user_id: String,
    action_item_id: String,
    revision: i64,
    due_at: Timestamp,
    is_open: bool,
}

impl Outbox {
    /// Fires at most `limit` reminders whose moment has come: a push to each subscription, in the transaction that marks
    /// them as fired. Another process that fires skips locked ones. Returns how many were fired.
    pub async fn fire_reminders(&self, limit: i64) -> Result<usize, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // An item that is done, or has another date by now, is nothing to be reminded of.
        let fired: Vec<Fired> = sqlx::query_as(include_str!("../../sql/reminders/take_due.sql"))
            .bind(now)
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await?;
        for reminder in fired.iter().filter(|reminder| reminder.is_open) {
            let noticed = Noticed {
                item: reminder.action_item_id.clone(),
                revision: reminder.revision,
                due_at: reminder.due_at,
            };
            let user = UserId::new(reminder.user_id.as_str());
            write_pushes(&mut transaction, &user, &[noticed], Notice::Due, now).await?;
        }
        transaction.commit().await?;
        Ok(fired.len())
    }
}
