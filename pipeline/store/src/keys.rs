//! Developer keys: SHA-256 at rest (DECISIONS §1).

mod create;

use records::{Timestamp, UserId};

pub use create::KeyRefusal;
use db::{Doing, Error};

use crate::Store;

/// A key to be stored; its plain text never gets here.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Its id.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// A hint such as `lsk_ab…wxyz`.
    pub prefix: String,
    /// SHA-256 of the key's text.
    pub sha256: [u8; 32],
    /// Scopes in canonical order.
    pub scopes: Vec<String>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// The hint.
    pub prefix: String,
    /// Scopes.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used (to the minute).
    pub last_used_at: Option<Timestamp>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Who stands behind a presented key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyOwner {
    /// The person.
    pub user_id: UserId,
    /// The key's id.
    pub key_id: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
}

impl Store {
    /// The owner of a live (neither revoked nor expired) key; `last_used_at` is written at most once a minute.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn key_owner(&self, sha256: &[u8; 32]) -> Result<Option<KeyOwner>, Error> {
        let read = async {
            let found: Option<OwnerRow> = sqlx::query_as(
                "select user_id, key_id, scopes, expires_at, \
                     coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) as is_unnoted \
                 from developer_keys where key_sha256 = $1 and revoked_at is null \
                     and coalesce(expires_at > statement_timestamp(), true)",
            )
            .bind(sha256.as_slice())
            .fetch_optional(self.db.pool())
            .await
            .doing("looking up a key")?;
            let Some(row) = found else { return Ok(None) };
            if row.is_unnoted
                && let Err(error) = self.note_key_use(&row).await
            {
                // A server that only reads, or has no room to write, still answers reads.
                tracing::warn!(%error, "the use of a key could not be noted");
            }
            let (user_id, key_id) = (UserId::new(row.user_id), row.key_id);
            Ok(Some(KeyOwner { user_id, key_id, scopes: row.scopes, expires_at: row.expires_at }))
        };
        self.db.in_time(read).await
    }

    /// A person's keys, newest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys(&self, user: &UserId) -> Result<Vec<Key>, Error> {
        let rows: Vec<KeyRow> = sqlx::query_as(
            "select key_id, name, key_prefix, scopes, created_at, last_used_at, expires_at, revoked_at \
             from developer_keys where user_id = $1 order by created_at desc, key_id",
        )
        .bind(user.as_str())
        .fetch_all(self.db.pool())
        .await
        .doing("listing keys")?;
        Ok(rows.into_iter().map(Key::from).collect())
    }

    /// Revokes a key at once. `false`: the person has no live key of that id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn revoke_key(&self, user: &UserId, key_id: &str) -> Result<bool, Error> {
        let revoked = sqlx::query(
            "update developer_keys set revoked_at = statement_timestamp() \
             where user_id = $1 and key_id = $2 and revoked_at is null",
        )
        .bind(user.as_str())
        .bind(key_id)
        .execute(self.db.pool())
        .await
        .doing("revoking a key")?;
        Ok(revoked.rows_affected() > 0)
    }
}

impl Store {
    /// Notes that a key was used. That it is lost with the server costs nothing, and a key that is being changed is skipped.
    async fn note_key_use(&self, key: &OwnerRow) -> Result<(), Error> {
        const DOING: &str = "noting the use of a key";
        let mut transaction = self.db.begin_without_clock(DOING).await?;
        sqlx::query("set local synchronous_commit = off").execute(&mut *transaction).await.doing(DOING)?;
        sqlx::query(
            "update developer_keys set last_used_at = statement_timestamp() \
             where user_id = $1 and key_id in (select key_id from developer_keys where user_id = $1 and key_id = $2 \
                 and coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) \
                 for no key update skip locked)",
        )
        .bind(&key.user_id)
        .bind(&key.key_id)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)
    }
}

/// A live key and whose it is.
#[derive(sqlx::FromRow)]
struct OwnerRow {
    user_id: String,
    key_id: String,
    scopes: Vec<String>,
    expires_at: Option<Timestamp>,
    /// Its last use was not noted for a minute.
    is_unnoted: bool,
}

/// The columns as the table holds them.
#[derive(sqlx::FromRow)]
struct KeyRow {
    key_id: String,
    name: String,
    key_prefix: String,
    scopes: Vec<String>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl From<KeyRow> for Key {
    fn from(row: KeyRow) -> Self {
        Self {
            id: row.key_id,
            name: row.name,
            prefix: row.key_prefix,
            scopes: row.scopes,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        }
    }
}
