//! Reminders of action items: what is to be pushed when a due date is set, and once more when it has come
//! (DECISIONS §3, "push").
//!
//! Every change of a due date calls this, in the same transaction: [`schedule`] for a date that was set or changed,
//! [`cancel`] when it was cleared or the item was completed, [`resume`] when it was opened again. An item's deletion takes its reminder along by foreign key.

use std::slice;

use db::{Error, array, query, query_as};
use records::{Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Outbox;

job::named! {
    /// Why a person is reminded.
    Notice {
        /// A due date was set or changed.
        Set = "set",
        /// The due date has come.
        Due = "due",
    }
}

/// An action item with the due date that it has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub item: String,
    pub due_at: Timestamp,
}

impl Due {
    /// An item and its date.
    pub fn of(item: &str, due_at: Timestamp) -> Self {
        Self { item: item.to_owned(), due_at }
    }
}

/// A due date that deliveries are written for.
#[derive(sqlx::FromRow)]
struct Noticed {
    #[sqlx(rename = "action_item_id")]
    item: String,
    revision: i64,
    due_at: Timestamp,
}

/// Says that these items of one person were given these due dates, in the transaction that does so: what was still to be
/// sent of an earlier date is cancelled, a push to each subscription is written, and the reminder is set for the moment
/// itself. A date that has passed already gets one push. Items with equal ids count once, the last one. Returns how many
/// pushes were written: after the commit, [`Outbox::wake_pushes`] takes that number.
pub async fn schedule(
    connection: &mut PgConnection,
    user: &UserId,
    dues: &[Due],
    now: Timestamp,
) -> Result<u64, Error> {
    if dues.is_empty() {
        return Ok(0);
    }
    let items: Vec<&str> = dues.iter().map(|due| due.item.as_str()).collect();
    lock_subscriptions(connection, user).await?;
    take_back(connection, user, &items, now).await?;
    let noticed = next_revisions(connection, user, dues, now).await?;
    write_pushes(connection, user, &noticed, Notice::Set, now).await
}

/// These items are open again, and their due dates were sent before: nothing is sent now, and the reminder is set for the moments
/// that are still to come.
pub async fn resume(
    connection: &mut PgConnection,
    user: &UserId,
    dues: &[Due],
    now: Timestamp,
) -> Result<(), Error> {
    if dues.is_empty() {
        return Ok(());
    }
    next_revisions(connection, user, dues, now).await.map(drop)
}

/// Cancels all reminders of these items.
pub async fn cancel(
    connection: &mut PgConnection,
    user: &UserId,
    items: &[&str],
    now: Timestamp,
) -> Result<(), Error> {
    if items.is_empty() {
        return Ok(());
    }
    lock_subscriptions(connection, user).await?;
    query!("reminders/cancel.sql", user, items).execute(&mut *connection).await?;
    take_back(connection, user, items, now).await
}

/// Subscriptions come before their pushes in the order of locks: one that is being removed takes its pushes along, and the end
/// of a try holds the one before the other. A deletion of items locks them first: an item takes its pushes along, too.
pub async fn lock_subscriptions(connection: &mut PgConnection, user: &UserId) -> Result<(), Error> {
    query!("subscriptions/share.sql", user).execute(connection).await?;
    Ok(())
}

/// Cancels what is still to be sent. A try that is under way cannot be called back; its end is no longer recorded.
async fn take_back(
    connection: &mut PgConnection,
    user: &UserId,
    items: &[&str],
    now: Timestamp,
) -> Result<(), Error> {
    query!("pushes/take_back.sql", user, items, now).execute(connection).await?;
    Ok(())
}

async fn next_revisions(
    connection: &mut PgConnection,
    user: &UserId,
    dues: &[Due],
    now: Timestamp,
) -> Result<Vec<Noticed>, Error> {
    Ok(query_as!(
        "reminders/schedule.sql",
        user,
        now,
        array(dues, |due| due.item.as_str()),
        array(dues, |due| due.due_at)
    )
    .fetch_all(connection)
    .await?)
}

/// Writes a push per item and subscription. A subscription that is being removed is waited for, and then there is
/// nothing to be written for it.
async fn write_pushes(
    connection: &mut PgConnection,
    user: &UserId,
    noticed: &[Noticed],
    notice: Notice,
    now: Timestamp,
) -> Result<u64, Error> {
    let ids: Vec<String> = noticed.iter().map(|one| delivery_id(user, one, notice)).collect();
    let written = query!(
        "pushes/write.sql",
        user,
        notice.as_str(),
        now,
        ids,
        array(noticed, |one| one.item.as_str()),
        array(noticed, |one| one.due_at)
    )
    .execute(connection)
    .await?;
    Ok(written.rows_affected())
}

#[derive(sqlx::FromRow)]
struct Fired {
    user_id: UserId,
    #[sqlx(flatten)]
    noticed: Noticed,
    is_open: bool,
}

impl Outbox {
    /// Fires at most `limit` reminders whose moment has come: a push to each subscription, in the transaction that marks
    /// them as fired. Another process that fires skips locked ones. Returns how many were fired.
    pub async fn fire_reminders(&self, limit: i64) -> Result<usize, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // An item that is done, or has another date by now, is nothing to be reminded of.
        let fired: Vec<Fired> =
            query_as!("reminders/take_due.sql", now, limit).fetch_all(&mut *transaction).await?;
        for Fired { user_id, noticed, .. } in fired.iter().filter(|reminder| reminder.is_open) {
            write_pushes(&mut transaction, user_id, slice::from_ref(noticed), Notice::Due, now).await?;
        }
        transaction.commit().await?;
        Ok(fired.len())
    }
}

/// The same for every subscription, and on every try: what a receiver knows a repeat by.
fn delivery_id(user: &UserId, noticed: &Noticed, notice: Notice) -> String {
    let name = format!("{user}\n{}\n{}\n{}", noticed.item, noticed.revision, notice.as_str());
    format!("push_{}", Uuid::new_v5(&PUSHES, name.as_bytes()).simple())
}

/// The namespace of push ids; part of the durable contract.
const PUSHES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f70_7573_6865_7300_0000);
