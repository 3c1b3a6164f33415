//! The people whom a user knows: `person_id` of segments names one of them (DECISIONS §1, "a person of the user's").

use db::{Doing, Error};
use records::{Timestamp, UserId};

use crate::Store;

/// A person whom the user knows by name.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct KnownPerson {
    /// Unique per user.
    #[sqlx(rename = "person_id")]
    pub id: String,
    /// 1–100 characters.
    pub name: String,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Store {
    /// A page of the people whom a user knows, newest first, then by id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn known_people(
        &self,
        user: &UserId,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<KnownPerson>, Error> {
        sqlx::query_as(
            "select person_id, name, created_at, updated_at from people where user_id = $1 \
             order by created_at desc, person_id limit $2 offset $3",
        )
        .bind(user.as_str())
        .bind(limit)
        .bind(offset)
        .fetch_all(self.db.pool())
        .await
        .doing("listing known people")
    }

    /// One of them; `None`: the user knows no person of that id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn known_person(&self, user: &UserId, id: &str) -> Result<Option<KnownPerson>, Error> {
        sqlx::query_as(
            "select person_id, name, created_at, updated_at from people where user_id = $1 and person_id = $2",
        )
        .bind(user.as_str())
        .bind(id)
        .fetch_optional(self.db.pool())
        .await
        .doing("reading a known person")
    }

    /// Stores a person under a fresh id. From now on segments with that id are shown with the name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn know_person(&self, user: &UserId, id: &str, name: &str) -> Result<KnownPerson, Error> {
        const DOING: &str = "storing a known person";
        let (mut transaction, now) = self.db.begin_creating(DOING, &[id]).await?;
        let person = sqlx::query_as(
            "insert into people (user_id, person_id, name, created_at, updated_at) values ($1, $2, $3, $4, $4) \
             returning person_id, name, created_at, updated_at",
        )
        .bind(user.as_str())
        .bind(id)
        .bind(name)
        .bind(now)
        .fetch_one(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(person)
    }

    /// Renames a person, in every conversation at once: names are read, not copied. `None`: no such person.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn rename_person(
        &self,
        user: &UserId,
        id: &str,
        name: &str,
    ) -> Result<Option<KnownPerson>, Error> {
        sqlx::query_as(
            "update people set name = $3, updated_at = statement_timestamp() where user_id = $1 and person_id = $2 \
             returning person_id, name, created_at, updated_at",
        )
        .bind(user.as_str())
        .bind(id)
        .bind(name)
        .fetch_optional(self.db.pool())
        .await
        .doing("renaming a known person")
    }

    /// Forgets a person; segments keep the id, and their speaker is a number again. `false`: no such person.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_person(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let forgotten = sqlx::query(
            "with answers as (update request_keys set status = null, answer = null, running_until = 'epoch' \
                 where user_id = $1 and made && array[$2]) \
             delete from people where user_id = $1 and person_id = $2",
        )
        .bind(user.as_str())
        .bind(id)
        .execute(self.db.pool())
        .await
        .doing("forgetting a known person")?;
        Ok(forgotten.rows_affected() > 0)
    }
}
