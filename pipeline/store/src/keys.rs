//! Developer keys: SHA-256 at rest (DECISIONS §1). Made by an operator's word, or by a person's own, which is counted.

use db::{Error, idempotency::forget_answers, lock_user, query, query_as, query_scalar, sql};
use records::{Timestamp, UserId};
use sqlx::{FromRow, PgConnection, postgres::PgRow};

use crate::Store;

/// How many live keys a person may come to by themselves (DECISIONS §2); they are listed whole.
const MOST: i64 = 100;
/// How many keys that are revoked or expired are kept to be looked at: who makes and revokes one a day shall not have a
/// list without end.
const DEAD: i64 = 100;

/// A key to be stored; its plain text never gets here.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// A hint such as `lsk_ab…wxyz`.
    pub prefix: String,
    pub sha256: [u8; 32],
    /// Scopes in canonical order.
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Key {
    #[sqlx(rename = "key_id")]
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    #[sqlx(rename = "key_prefix")]
    pub prefix: String,
    pub scopes: Vec<String>,
    pub created_at: Timestamp,
    /// When it was last used (to the minute).
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Who stands behind a presented key.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct KeyOwner {
    pub user_id: UserId,
    pub key_id: String,
    /// What it may do.
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

/// A developer's key or an app's, neither revoked nor expired, with what `O` says of its owner.
#[derive(FromRow)]
struct LiveKey<O> {
    #[sqlx(flatten)]
    owner: O,
    user_id: String,
    key_id: String,
    /// Its last use was not noted for a minute.
    is_unnoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    NoSuchPerson,
    /// As many live keys as one may have: 409.
    TooMany,
    /// It would have stopped working already.
    Expired,
}

impl Store {
    /// Stores a key that an operator makes, however many there are: a person must not be locked out by their own
    /// keys. `false`: no such person.
    pub async fn create_key(&self, user: &UserId, key: &NewKey) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin_creating(&[&key.id]).await?;
        let stored = insert(&mut transaction, user, key).await?;
        transaction.commit().await?;
        Ok(stored)
    }

    /// Stores a key that a person makes with another one.
    pub async fn add_key(&self, user: &UserId, key: &NewKey) -> Result<Result<(), KeyRefusal>, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[&key.id]).await?;
        if key.expires_at.is_some_and(|end| end <= now) {
            return Ok(Err(KeyRefusal::Expired));
        }
        lock_user(&mut transaction, user).await?;
        let live: i64 = query_scalar!("keys/count_live.sql", user, now).fetch_one(&mut *transaction).await?;
        if live >= MOST {
            return Ok(Err(KeyRefusal::TooMany));
        }
        if !insert(&mut transaction, user, key).await? {
            return Ok(Err(KeyRefusal::NoSuchPerson));
        }
        // The oldest of the keys that work no more go.
        let gone: Vec<String> =
            query_scalar!("keys/forget_old.sql", user, now, DEAD).fetch_all(&mut *transaction).await?;
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        forget_answers(&mut transaction, user, &gone).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// The owner of a live (neither revoked nor expired) key; `last_used_at` is written at most once a minute.
    pub async fn key_owner(&self, sha256: &[u8; 32]) -> Result<Option<KeyOwner>, Error> {
        let (find, note) = (sql!("keys/owner.sql"), sql!("keys/note_use.sql"));
        self.db.in_time(self.owner_of_key(find, note, sha256)).await
    }

    pub async fn keys(&self, user: &UserId) -> Result<Vec<Key>, Error> {
        Ok(query_as!("keys/list.sql", user).fetch_all(self.db.pool()).await?)
    }

    /// Revokes a key at once. `false`: the person has no live key of that id.
    pub async fn revoke_key(&self, user: &UserId, key_id: &str) -> Result<bool, Error> {
        self.db.delete_of_user(sql!("keys/revoke.sql"), user, key_id).await
    }

    /// The owner of the live key that `find` finds. `note` writes that it was used: that this is lost with the server costs nothing,
    /// and a key that is being changed is skipped.
    pub(crate) async fn owner_of_key<O>(
        &self,
        find: &'static str,
        note: &'static str,
        sha256: &[u8; 32],
    ) -> Result<Option<O>, Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let found = sqlx::query_as(find).bind(sha256.as_slice()).fetch_optional(self.db.pool()).await?;
        let Some(LiveKey { owner, user_id, key_id, is_unnoted }) = found else { return Ok(None) };
        let noted = async {
            let mut transaction = self.db.begin_unflushed().await?;
            sqlx::query(note).bind(user_id).bind(key_id).execute(&mut *transaction).await?;
            Ok::<_, Error>(transaction.commit().await?)
        };
        if is_unnoted && let Err(error) = noted.await {
            // A server that only reads, or has no room to write, still answers reads.
            tracing::warn!(%error, "the use of a key could not be noted");
        }
        Ok(Some(owner))
    }
}

/// `false`: no such person.
async fn insert(connection: &mut PgConnection, user: &UserId, key: &NewKey) -> Result<bool, Error> {
    let stored = query!(
        "keys/create.sql",
        user,
        &key.id,
        &key.name,
        &key.prefix,
        key.sha256.as_slice(),
        &key.scopes,
        key.expires_at
    )
    .execute(connection)
    .await?;
    Ok(stored.rows_affected() > 0)
}
