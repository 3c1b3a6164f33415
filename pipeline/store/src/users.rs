//! People and their settings.

use db::{Doing, Error, lock_user};
use records::{Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{LimitsChange, Store, search::forget_words};

/// A person and the settings that stages read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The name, when known.
    pub name: Option<String>,
    /// An IANA name, always one that chrono-tz knows.
    pub time_zone: String,
    /// A language code.
    pub language: String,
    /// Only runs that hold the person's own keys are allowed.
    pub requires_byok: bool,
    /// Enabled summarization apps.
    pub apps: Vec<String>,
    /// When the person was created.
    pub created_at: Timestamp,
}

/// What to change of a person; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// The name; `Some(None)` takes it away.
    pub name: Option<Option<String>>,
    /// An IANA name, checked by the caller.
    pub time_zone: Option<String>,
    /// A language code.
    pub language: Option<String>,
    /// Marking a person parks the person's queued jobs in the same transaction.
    pub requires_byok: Option<bool>,
    /// Enabled summarization apps.
    pub apps: Option<Vec<String>>,
    /// The user's own limits.
    pub limits: LimitsChange,
}

impl Store {
    /// Creates a person with the folders Work, Personal and Social. `false`: the id is taken, nothing was changed.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_user(&self, id: &UserId, change: &UserChange) -> Result<bool, Error> {
        const DOING: &str = "creating a person";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let created = sqlx::query(
            "insert into users (user_id, name, time_zone, language, requires_byok, apps, created_at, updated_at, \
                 first_epoch, limit_conversations_per_day, limit_bytes, limit_waiting_jobs) \
             select $1, $2, coalesce($3, 'UTC'), coalesce($4, 'en'), coalesce($5, false), coalesce($6, '{}'), $7, $7, \
                 coalesce(max(epoch), 0), $8, $9, $10 from epoch_floor \
             on conflict do nothing",
        )
        .bind(id.as_str())
        .bind(change.name.as_ref().and_then(Option::as_deref))
        .bind(change.time_zone.as_deref())
        .bind(change.language.as_deref())
        .bind(change.requires_byok)
        .bind(change.apps.as_deref())
        .bind(now)
        .bind(change.limits.conversations_per_day.flatten())
        .bind(change.limits.bytes.flatten())
        .bind(change.limits.waiting_jobs.flatten())
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        if created.rows_affected() == 0 {
            return Ok(false);
        }
        insert_first_folders(&mut transaction, id, now).await.doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(true)
    }

    /// One person.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn user(&self, id: &UserId) -> Result<Option<User>, Error> {
        let mut connection = self.db.pool().acquire().await.doing("reading a person")?;
        read_user(&mut connection, id).await
    }
}

/// The columns as the table holds them.
#[derive(sqlx::FromRow)]
struct UserRow {
    user_id: String,
    name: Option<String>,
    time_zone: String,
    language: String,
    requires_byok: bool,
    apps: Vec<String>,
    created_at: Timestamp,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            id: UserId::new(row.user_id),
            name: row.name,
            time_zone: row.time_zone,
            language: row.language,
            requires_byok: row.requires_byok,
            apps: row.apps,
            created_at: row.created_at,
        }
    }
}

/// Writes the change of a person; the row is locked by it. `None`: no such person.
///
/// # Errors
/// When the database does not answer.
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
    let row: Option<UserRow> = sqlx::query_as(
        "update users set updated_at = $2, name = case when $8 then $3 else name end, time_zone = coalesce($4, time_zone), \
             language = coalesce($5, language), requires_byok = coalesce($6, requires_byok), \
             apps = coalesce($7, apps), \
             limit_conversations_per_day = case when $9 then $10 else limit_conversations_per_day end, \
             limit_bytes = case when $11 then $12 else limit_bytes end, \
             limit_waiting_jobs = case when $13 then $14 else limit_waiting_jobs end \
         where user_id = $1 \
         returning user_id, name, time_zone, language, requires_byok, apps, created_at",
    )
    .bind(id.as_str())
    .bind(now)
    .bind(change.name.as_ref().and_then(Option::as_deref))
    .bind(change.time_zone.as_deref())
    .bind(change.language.as_deref())
    .bind(change.requires_byok)
    .bind(change.apps.as_deref())
    .bind(change.name.is_some())
    .bind(change.limits.conversations_per_day.is_some())
    .bind(change.limits.conversations_per_day.flatten())
    .bind(change.limits.bytes.is_some())
    .bind(change.limits.bytes.flatten())
    .bind(change.limits.waiting_jobs.is_some())
    .bind(change.limits.waiting_jobs.flatten())
    .fetch_optional(connection)
    .await
    .doing("changing a person")?;
    Ok(row.map(User::from))
}

/// Reads one person; takes no lock.
pub async fn read_user(connection: &mut PgConnection, id: &UserId) -> Result<Option<User>, Error> {
    let row: Option<UserRow> = sqlx::query_as(
        "select user_id, name, time_zone, language, requires_byok, apps, created_at from users where user_id = $1",
    )
    .bind(id.as_str())
    .fetch_optional(connection)
    .await
    .doing("reading a person")?;
    Ok(row.map(User::from))
}

/// The folders of every new person (DECISIONS §1), with the rules that automatic filing goes by.
const FIRST_FOLDERS: [(&str, &str); 3] = [
    ("Work", "Meetings, projects, colleagues, customers and everything about a job"),
    ("Personal", "Health, home, money, plans and everything that concerns only oneself"),
    ("Social", "Friends, family, parties, dates and time spent with other people"),
];

/// Writes the first folders. Their ids are derived from the person and the name.
async fn insert_first_folders(
    connection: &mut PgConnection,
    user: &UserId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let id = |name: &str| Uuid::new_v5(&FOLDERS, format!("{user}\n{name}").as_bytes()).to_string();
    sqlx::query(
        "insert into folders (user_id, folder_id, name, description, position, is_system, created_at, updated_at) \
         select $1, t.folder_id, t.name, t.description, t.ordinal::integer - 1, true, $5, $5 \
         from unnest($2::text[], $3::text[], $4::text[]) with ordinality t (folder_id, name, description, ordinal)",
    )
    .bind(user.as_str())
    .bind(FIRST_FOLDERS.map(|(name, _)| id(name)).to_vec())
    .bind(FIRST_FOLDERS.map(|(name, _)| name).to_vec())
    .bind(FIRST_FOLDERS.map(|(_, rule)| rule).to_vec())
    .bind(now)
    .execute(connection)
    .await
    .map(drop)
}

/// The namespace of the first folders' ids; part of the durable contract.
const FOLDERS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f66_6f6c_6465_7273_0000);
