//! Developer keys: SHA-256 at rest (DECISIONS §1).

mod create;

use records::{Timestamp, UserId};
use sqlx::{Connection, PgConnection};

pub use create::KeyRefusal;

use crate::{
    Ledger,
    error::{Doing, Error},
};

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

impl Ledger {
    /// The owner of a live (neither revoked nor expired) key; `last_used_at` is written at most once a minute. Keys that
    /// are shown together are looked up together.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn key_owner(&self, sha256: &[u8; 32]) -> Result<Option<KeyOwner>, Error> {
        let all = async |ledger: Self, shown: Vec<_>| ledger.in_time(ledger.key_owners(&shown)).await;
        self.key_owners.ask(self, *sha256, all).await
    }

    async fn key_owners(&self, shown: &[[u8; 32]]) -> Result<Vec<Option<KeyOwner>>, Error> {
        const DOING: &str = "looking keys up";
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let found: Vec<OwnerRow> = sqlx::query_as(
            "select key_sha256, user_id, key_id, scopes, expires_at, \
                 coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) as is_unnoted \
             from developer_keys where key_sha256 = any($1) and revoked_at is null \
                 and coalesce(expires_at > statement_timestamp(), true)",
        )
        .bind(shown.iter().map(<[u8; 32]>::as_slice).collect::<Vec<_>>())
        .fetch_all(&mut *session)
        .await
        .doing(DOING)?;
        let unnoted: Vec<&OwnerRow> = found.iter().filter(|row| row.is_unnoted).collect();
        if !unnoted.is_empty()
            && let Err(error) = note_key_uses(&mut session, &unnoted).await
        {
            // Who may only read, or has no room to write, reads on.
            tracing::warn!(%error, "the use of keys could not be noted");
            session.ping().await.doing(DOING)?;
        }
        session.keep();
        let owner = |sha256: &[u8; 32]| {
            let row = found.iter().find(|row| row.key_sha256 == sha256)?;
            let (user_id, key_id) = (UserId::new(row.user_id.as_str()), row.key_id.clone());
            Some(KeyOwner { user_id, key_id, scopes: row.scopes.clone(), expires_at: row.expires_at })
        };
        Ok(shown.iter().map(owner).collect())
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
        .fetch_all(&self.pool)
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
            "update developer_keys set revoked_at = clock_timestamp() \
             where user_id = $1 and key_id = $2 and revoked_at is null",
        )
        .bind(user.as_str())
        .bind(key_id)
        .execute(&self.pool)
        .await
        .doing("revoking a key")?;
        Ok(revoked.rows_affected() > 0)
    }
}

/// Notes that keys were used. Requests that come together note it once: the rest passes the locked row by. Nobody who shows a key
/// waits for a disk, or for another server's: a crash may lose the note.
async fn note_key_uses(connection: &mut PgConnection, used: &[&OwnerRow]) -> Result<(), Error> {
    sqlx::query(
        "with hasty as materialized (select set_config('synchronous_commit', 'off', true)), \
         stale as (select user_id, key_id from developer_keys \
             join unnest($1::text[], $2::text[]) t (user_id, key_id) using (user_id, key_id) \
             where coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) \
                 and (select count(*) from hasty) > 0 \
             for no key update of developer_keys skip locked) \
         update developer_keys k set last_used_at = clock_timestamp() from stale s \
         where k.user_id = s.user_id and k.key_id = s.key_id",
    )
    .bind(used.iter().map(|key| key.user_id.as_str()).collect::<Vec<_>>())
    .bind(used.iter().map(|key| key.key_id.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .doing("noting the use of keys")
    .map(drop)
}

/// A live key and whose it is.
#[derive(sqlx::FromRow)]
struct OwnerRow {
    key_sha256: Vec<u8>,
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
