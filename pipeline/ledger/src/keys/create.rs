//! Making a key: by an operator's word, or by a person's own, which is counted.

use records::UserId;
use sqlx::PgConnection;

use super::NewKey;
use crate::{
    Ledger,
    error::{Doing, Error},
    users::lock_user,
};

const DOING: &str = "storing a key";
/// How many live keys a person may come to by themselves (DECISIONS §2); they are listed whole.
const MOST: i64 = 100;

/// Why a person's own key was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// Nobody of that id.
    NoSuchPerson,
    /// As many live keys as one may have: 409.
    TooMany,
}

impl Ledger {
    /// Stores a key that an operator makes, however many there are: a person must not be locked out by their own
    /// keys. `false`: no such person.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_key(&self, user: &UserId, key: &NewKey) -> Result<bool, Error> {
        let (mut transaction, _) = self.begin_creating(DOING, &[&key.id]).await?;
        let stored = insert(&mut transaction, user, key).await?;
        transaction.commit().await.doing(DOING)?;
        Ok(stored)
    }

    /// Stores a key that a person makes with another one.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn add_key(&self, user: &UserId, key: &NewKey) -> Result<Result<(), KeyRefusal>, Error> {
        let (mut transaction, now) = self.begin_creating(DOING, &[&key.id]).await?;
        lock_user(&mut transaction, user).await?;
        let live: i64 = sqlx::query_scalar(
            "select count(*) from developer_keys \
             where user_id = $1 and revoked_at is null and coalesce(expires_at > $2, true)",
        )
        .bind(user.as_str())
        .bind(now)
        .fetch_one(&mut *transaction)
        .await
        .doing(DOING)?;
        if live >= MOST {
            return Ok(Err(KeyRefusal::TooMany));
        }
        if !insert(&mut transaction, user, key).await? {
            return Ok(Err(KeyRefusal::NoSuchPerson));
        }
        transaction.commit().await.doing(DOING)?;
        Ok(Ok(()))
    }
}

/// `false`: no such person.
async fn insert(connection: &mut PgConnection, user: &UserId, key: &NewKey) -> Result<bool, Error> {
    let stored = sqlx::query(
        "insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes, expires_at) \
         select user_id, $2, $3, $4, $5, $6, $7 from users where user_id = $1",
    )
    .bind(user.as_str())
    .bind(&key.id)
    .bind(&key.name)
    .bind(&key.prefix)
    .bind(key.sha256.as_slice())
    .bind(&key.scopes)
    .bind(key.expires_at)
    .execute(connection)
    .await
    .doing(DOING)?;
    Ok(stored.rows_affected() > 0)
}
