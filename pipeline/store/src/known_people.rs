//! The people whom a user knows: `person_id` of segments names one of them (DECISIONS §1, "a person of the user's").

use db::{Error, idempotency::forget_answers, query, query_as};
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
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Store {
    /// A page of the people whom a user knows, newest first, then by id.
    pub async fn known_people(
        &self,
        user: &UserId,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<KnownPerson>, Error> {
        Ok(query_as!("people/list.sql", user, limit, offset).fetch_all(self.db.pool()).await?)
    }

    /// One of them; `None`: the user knows no person of that id.
    pub async fn known_person(&self, user: &UserId, id: &str) -> Result<Option<KnownPerson>, Error> {
        Ok(query_as!("people/get.sql", user, id).fetch_optional(self.db.pool()).await?)
    }

    /// Stores a person under a fresh id. From now on segments with that id are shown with the name.
    pub async fn know_person(&self, user: &UserId, id: &str, name: &str) -> Result<KnownPerson, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[id]).await?;
        let person = query_as!("people/insert.sql", user, id, name, now).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(person)
    }

    /// Renames a person, in every conversation at once: names are read, not copied. Searches follow by and by (`forget_more`).
    /// `None`: no such person.
    pub async fn rename_person(
        &self,
        user: &UserId,
        id: &str,
        name: &str,
    ) -> Result<Option<KnownPerson>, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        query!("search/names_changed.sql", user, id, Some(name)).execute(&mut *transaction).await?;
        let renamed =
            query_as!("people/rename.sql", user, id, name).fetch_optional(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(renamed)
    }

    /// Forgets a person; segments keep the id, and their speaker is a number again. `false`: no such person.
    pub async fn forget_person(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        query!("search/names_changed.sql", user, id, None::<&str>).execute(&mut *transaction).await?;
        let deleted = query!("people/delete.sql", user, id).execute(&mut *transaction).await?;
        forget_answers(&mut transaction, user, &[id]).await?;
        transaction.commit().await?;
        Ok(deleted.rows_affected() > 0)
    }
}
