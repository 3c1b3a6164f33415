//! What apps write into their users' chats, and the pushes that go with it.

use db::{Error, Repeat, RequestKey, idempotency, query, query_as};
use records::{Timestamp, UserId};

use crate::Outbox;

/// How many messages an app may send to one user within an hour (spec, "Limits").
pub const MESSAGES_PER_HOUR: i32 = 10;

#[derive(Clone, Debug)]
pub struct AppMessage<'a> {
    pub id: &'a str,
    pub user: &'a UserId,
    pub app: &'a str,
    pub text: &'a str,
    /// The request's name, where its client gave it one.
    pub key: Option<RequestKey>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notified {
    /// It was written, with so many pushes.
    Sent {
        hour: SentThisHour,
        /// Pushes to the user's subscriptions.
        pushes: u64,
    },
    /// A request of the same name was made before.
    Repeated,
    /// The same, with another body.
    OtherBody,
    /// Ten were sent within the last hour.
    TooMany(SentThisHour),
    /// The user has not installed the app, or there is no such user.
    NotInstalled,
    /// The app's manifest does not enable messages.
    NotEnabled,
}

/// How the sliding hour of one app and user stands.
#[derive(Clone, Copy, Debug, PartialEq, sqlx::FromRow)]
pub struct SentThisHour {
    /// How many messages count.
    pub used: i32,
    /// Seconds until the oldest of them counts no more.
    pub frees_in: f64,
}

#[derive(sqlx::FromRow)]
struct InstallRow {
    name: String,
    chat_enabled: bool,
    chat_target: String,
    chat_notify: bool,
}

#[derive(sqlx::FromRow)]
struct SentRow {
    #[sqlx(flatten)]
    hour: SentThisHour,
    is_written: bool,
    now: Timestamp,
}

impl Outbox {
    /// Writes a message of an app into its user's chat, at most ten within any hour: the install is locked, whichever process
    /// writes. The message and its pushes are one transaction; a refused message counts for nothing.
    pub async fn send_app_message(&self, message: &AppMessage<'_>) -> Result<Notified, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        let install: Option<InstallRow> = query_as!("chat/lock_install.sql", &message.user, message.app)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(install) = install else { return Ok(Notified::NotInstalled) };
        if !install.chat_enabled {
            return Ok(Notified::NotEnabled);
        }
        if let Some(key) = &message.key {
            match idempotency::known(&mut transaction, key).await? {
                Some(Repeat::OtherBody) => return Ok(Notified::OtherBody),
                Some(_) => return Ok(Notified::Repeated),
                None => {}
            }
        }
        let thread = if install.chat_target == "main" { "main" } else { message.app };
        let sent: SentRow = query_as!(
            "chat/send.sql",
            &message.user,
            message.app,
            thread,
            message.id,
            message.text,
            MESSAGES_PER_HOUR
        )
        .fetch_one(&mut *transaction)
        .await?;
        if !sent.is_written {
            return Ok(Notified::TooMany(sent.hour));
        }
        if let Some(key) = &message.key {
            idempotency::note(&mut transaction, key, &[message.id], sent.now).await?;
        }
        let pushes = match install.chat_notify {
            true => query!(
                "chat/push.sql",
                &message.user,
                message.id,
                &install.name,
                &install.chat_target,
                sent.now
            )
            .execute(&mut *transaction)
            .await?
            .rows_affected(),
            false => 0,
        };
        transaction.commit().await?;
        self.wake_pushes(pushes);
        Ok(Notified::Sent { hour: sent.hour, pushes })
    }
}
