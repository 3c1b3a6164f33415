//! Making a key: by an operator's word, or by a person's own, which is counted.

use db::{Error, idempotency::forget_answers, lock_user};
use records::UserId;
use sqlx::PgConnection;

use super::NewKey;
use crate::Store;

/// How many live keys a person may come to by themselves (DECISIONS §2); they are listed whole.
const MOST: i64 = 100;
/// How many keys that are revoked or expired are kept to be looked at: who makes and revokes one a day shall not have a
/// list without end.
const DEAD: i64 = 100;

/// Why a person's own key was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No user has that id.
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
        let live: i64 = sqlx::query_scalar(include_str!("../../sql/keys/count_live.sql"))
            .bind(user.as_str())
            .bind(now)
            .fetch_one(&mut *transaction)
            .await?;
        if live >= MOST {
            return Ok(Err(KeyRefusal::TooMany));
        }
        if !insert(&mut transaction, user, key).await? {
            return Ok(Err(KeyRefusal::NoSuchPerson));
        }
        // The oldest of the keys that work no more go.
        let gone: Vec<String> = sqlx::query_scalar(include_str!("../../sql/keys/forget_old.sql"))
            .bind(user.as_str())
            .bind(now)
            .bind(DEAD)
            .fetch_all(&mut *transaction)
            .await?;
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        forget_answers(&mut transaction, user, &gone).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }
}

/// `false`: no such person.
async fn insert(connection: &mut PgConnection, user: &UserId, key: &NewKey) -> Result<bool, Error> {
    let stored = sqlx::query(include_str!("../../sql/keys/create.sql"))
        .bind(user.as_str())
        .bind(&key.id)
        .bind(&key.name)
        .bind(&key.prefix)
        .bind(key.sha256.as_slice())
        .bind(&key.scopes)
        .bind(key.expires_at)
        .execute(connection)
        .await?;
    Ok(stored.rows_affected() > 0)
}
