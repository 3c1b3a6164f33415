//! What a change of action items means for reminders: the one place through which what a user creates and
//! changes goes, at the end of the transaction that does it. An item that is deleted takes its reminder along by its key.

use db::Error;
use outbox::reminders::{self, Due};
use records::{ActionItem, ActionItemId, Timestamp, UserId};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::Ledger;

/// An action item before and after a person's change: `None` before is a new one.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) before: Option<ActionItem>,
    pub(crate) after: ActionItem,
}

/// What follows for the item's reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reminder {
    /// The date was set or changed: tell of it now, and once more when it comes.
    Set(ActionItemId, Timestamp),
    /// Open again with the date that it had: tell of it when it comes.
    Resumed(ActionItemId, Timestamp),
    /// Completed or cleared: no reminder is sent any more.
    Off(ActionItemId),
}

impl Changed {
    /// What follows for the reminder; `None` when nothing does.
    pub(crate) fn reminder(&self) -> Option<Reminder> {
        let id = self.after.id.clone();
        let had = self.before.as_ref().and_then(|item| item.due_at);
        match (self.before.as_ref().and_then(awaited), awaited(&self.after)) {
            (_, Some(due)) if had != Some(due) => Some(Reminder::Set(id, due)),
            (None, Some(due)) => Some(Reminder::Resumed(id, due)),
            (Some(_), None) => Some(Reminder::Off(id)),
            _ => None,
        }
    }
}

/// The date of an item that is open and has one.
fn awaited(item: &ActionItem) -> Option<Timestamp> {
    item.due_at.filter(|_| !item.completed)
}

impl Ledger {
    /// Writes the reminders that follow from a user's changes of action items, commits both, and wakes the
    /// sender.
    pub(super) async fn commit_changed(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        user: &UserId,
        changes: &[Changed],
        now: Timestamp,
    ) -> Result<(), Error> {
        let pushes = remind(&mut transaction, user, changes, now).await?;
        transaction.commit().await?;
        self.outbox.wake_pushes(pushes);
        Ok(())
    }
}

/// Answers how many pushes were written.
async fn remind(
    connection: &mut PgConnection,
    user: &UserId,
    changes: &[Changed],
    now: Timestamp,
) -> Result<u64, Error> {
    let (mut set, mut resumed, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for reminder in changes.iter().filter_map(Changed::reminder) {
        match reminder {
            Reminder::Set(id, due_at) => set.push(Due::of(id.as_str(), due_at)),
            Reminder::Resumed(id, due_at) => resumed.push(Due::of(id.as_str(), due_at)),
            Reminder::Off(id) => off.push(id),
        }
    }
    let off: Vec<&str> = off.iter().map(ActionItemId::as_str).collect();
    reminders::cancel(connection, user, &off, now).await?;
    reminders::resume(connection, user, &resumed, now).await?;
    reminders::schedule(connection, user, &set, now).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(due: Option<i64>, completed: bool) -> ActionItem {
        let at = |seconds| Timestamp::from_timestamp(seconds, 0).unwrap_or_default();
        ActionItem {
            id: ActionItemId::new("i"),
            description: "Call Bob".to_owned(),
            completed,
            created_at: at(0),
            updated_at: at(0),
            due_at: due.map(at),
            completed_at: completed.then(|| at(1)),
            conversation_id: None,
            position: 0,
        }
    }

    #[test]
    fn reminder_follows_the_due_date_of_an_open_item() {
        let at = |seconds| Timestamp::from_timestamp(seconds, 0).unwrap_or_default();
        let due = |seconds| Some(Reminder::Set(ActionItemId::new("i"), at(seconds)));
        let resumed = Some(Reminder::Resumed(ActionItemId::new("i"), at(5)));
        let off = Some(Reminder::Off(ActionItemId::new("i")));
        for (before, after, follows, what) in [
            (None, item(Some(5), false), due(5), "created with a date"),
            (None, item(None, false), None, "created without one"),
            (None, item(Some(5), true), None, "created as done"),
            (Some(item(None, false)), item(Some(5), false), due(5), "set"),
            (Some(item(Some(5), false)), item(Some(6), false), due(6), "changed"),
            (Some(item(Some(5), false)), item(Some(5), false), None, "sent again"),
            (Some(item(Some(5), false)), item(None, false), off.clone(), "cleared"),
            (Some(item(Some(5), false)), item(Some(5), true), off.clone(), "completed"),
            (Some(item(Some(5), false)), item(Some(6), true), off, "changed and completed"),
            (Some(item(Some(5), true)), item(Some(5), false), resumed, "opened again"),
            (Some(item(Some(5), true)), item(Some(6), false), due(6), "opened again with another date"),
        ] {
            assert_eq!(Changed { before, after }.reminder(), follows, "{what}");
        }
    }
}
