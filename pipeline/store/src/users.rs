//! People and their settings.

use db::{Error, lock_user, query, query_as};
use records::{Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{LimitsChange, Store, search::forget_words};

/// A person and the settings that stages read.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct User {
    #[sqlx(rename = "user_id")]
    pub id: UserId,
    pub name: Option<String>,
    /// An IANA name, always one that chrono-tz knows.
    pub time_zone: String,
    pub language: String,
    /// Only runs that hold the person's own keys are allowed.
    pub requires_byok: bool,
    pub apps: Vec<String>,
    pub created_at: Timestamp,
}

/// What to change of a person; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// The name; `Some(None)` takes it away.
    pub name: Option<Option<String>>,
    /// An IANA name, checked by the caller.
    pub time_zone: Option<String>,
    pub language: Option<String>,
    /// Marking a person parks the person's queued jobs in the same transaction.
    pub requires_byok: Option<bool>,
    pub apps: Option<Vec<String>>,
    pub limits: LimitsChange,
}

impl Store {
    /// Creates a person with the folders Work, Personal and Social. `false`: the id is taken, nothing was changed.
    pub async fn create_user(&self, id: &UserId, change: &UserChange) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let created = query!(
            "users/create.sql",
            id.as_str(),
            change.name.as_ref().and_then(Option::as_deref),
            change.time_zone.as_deref(),
            change.language.as_deref(),
            change.requires_byok,
            change.apps.as_deref(),
            now,
            change.limits.conversations_per_day.flatten(),
            change.limits.bytes.flatten(),
            change.limits.waiting_jobs.flatten()
        )
        .execute(&mut *transaction)
        .await?;
        if created.rows_affected() == 0 {
            return Ok(false);
        }
        let folder_id = |name: &str| Uuid::new_v5(&FOLDERS, format!("{id}\n{name}").as_bytes()).to_string();
        query!(
            "folders/insert_system.sql",
            id.as_str(),
            FIRST_FOLDERS.map(|(name, _)| folder_id(name)).to_vec(),
            FIRST_FOLDERS.map(|(name, _)| name).to_vec(),
            FIRST_FOLDERS.map(|(_, rule)| rule).to_vec(),
            now
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn user(&self, id: &UserId) -> Result<Option<User>, Error> {
        Ok(query_as!("users/get.sql", id.as_str()).fetch_optional(self.db.pool()).await?)
    }
}

/// Writes the change of a person; the row is locked by it. `None`: no such person.
pub async fn write_change(
    connection: &mut PgConnection,
    id: &UserId,
    change: &UserChange,
    now: Timestamp,
) -> Result<Option<User>, Error> {
    if let Some(language) = &change.language {
        lock_user(connection, id).await?;
        forget_words(connection, id, language).await?;
    }
    Ok(query_as!(
        "users/change.sql",
        id.as_str(),
        now,
        change.name.as_ref().and_then(Option::as_deref),
        change.time_zone.as_deref(),
        change.language.as_deref(),
        change.requires_byok,
        change.apps.as_deref(),
        change.name.is_some(),
        change.limits.conversations_per_day.is_some(),
        change.limits.conversations_per_day.flatten(),
        change.limits.bytes.is_some(),
        change.limits.bytes.flatten(),
        change.limits.waiting_jobs.is_some(),
        change.limits.waiting_jobs.flatten()
    )
    .fetch_optional(connection)
    .await?)
}

/// The folders of every new person (DECISIONS §1), with the rules that automatic filing goes by.
const FIRST_FOLDERS: [(&str, &str); 3] = [
    ("Work", "Meetings, projects, colleagues, customers and everything about a job"),
    ("Personal", "Health, home, money, plans and everything that concerns only oneself"),
    ("Social", "Friends, family, parties, dates and time spent with other people"),
];

/// The namespace of the first folders' ids; part of the durable contract.
const FOLDERS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f66_6f6c_6465_7273_0000);
