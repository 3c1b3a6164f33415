//! Keys of apps: with one an app writes to its users. SHA-256 at rest, as developers' keys.

use std::num::NonZeroU32;

use db::{Error, idempotency::forget_answers, lock_user, query, query_as, query_scalar, sql};
use records::{Timestamp, UserId};

use crate::Store;

/// How many live keys an app may have.
const MOST: i64 = 20;
/// How many revoked ones are kept to be looked at.
const DEAD: i64 = 20;

/// A key to be stored; its text never gets here.
#[derive(Clone, Debug)]
pub struct NewAppKey {
    pub id: String,
    pub label: String,
    /// A hint such as `lak_ab12…wxyz`.
    pub prefix: String,
    pub sha256: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AppKey {
    #[sqlx(rename = "key_id")]
    pub id: String,
    pub label: String,
    #[sqlx(rename = "key_prefix")]
    pub prefix: String,
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Whose key it is, and of which app.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AppKeyOwner {
    #[sqlx(rename = "user_id")]
    pub owner: UserId,
    pub key_id: String,
    pub app_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppKeyRefusal {
    NoSuchApp,
    /// As many live keys as an app may have.
    TooMany,
}

impl Store {
    pub async fn create_app_key(
        &self,
        owner: &UserId,
        app: &str,
        key: &NewAppKey,
    ) -> Result<Result<AppKey, AppKeyRefusal>, Error> {
        // The app's id leads the list: an answer that is lost with its process is rebuilt from both.
        let (mut transaction, now) = self.db.begin_creating(&[app, &key.id]).await?;
        lock_user(&mut transaction, owner).await?;
        let live: i64 = query_scalar!("apps/count_keys.sql", owner, app).fetch_one(&mut *transaction).await?;
        if live >= MOST {
            return Ok(Err(AppKeyRefusal::TooMany));
        }
        let stored: Option<AppKey> = query_as!(
            "apps/create_key.sql",
            owner,
            app,
            &key.id,
            &key.label,
            &key.prefix,
            key.sha256.as_slice(),
            now
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(stored) = stored else { return Ok(Err(AppKeyRefusal::NoSuchApp)) };
        query!("apps/forget_old_keys.sql", owner, app, DEAD).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Ok(stored))
    }

    /// The keys of an app of the user's, newest first; none of another user's app.
    pub async fn app_keys(&self, owner: &UserId, app: &str) -> Result<Vec<AppKey>, Error> {
        Ok(query_as!("apps/list_keys.sql", owner, app).fetch_all(self.db.pool()).await?)
    }

    /// Revokes a key at once. `false`: the app has no live key of that id.
    pub async fn revoke_app_key(&self, owner: &UserId, app: &str, id: &str) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let revoked = query!("apps/revoke_key.sql", owner, app, id, now).execute(&mut *transaction).await?;
        forget_answers(&mut transaction, owner, &[id]).await?;
        transaction.commit().await?;
        Ok(revoked.rows_affected() > 0)
    }

    /// The app behind a live key; its last use is noted at most once a minute.
    pub async fn app_key_owner(&self, sha256: &[u8; 32]) -> Result<Option<AppKeyOwner>, Error> {
        let find = sql!("apps/key_owner.sql");
        self.db.in_time(self.owner_of_key(find, sql!("apps/note_key_use.sql"), sha256)).await
    }

    /// Counts a request of an app, over all its keys and in every process: `per_minute` at once, and as many in a minute.
    /// `Some`: there were too many, and the next one may come after so many seconds.
    pub async fn admit_app_request(
        &self,
        key: &AppKeyOwner,
        per_minute: NonZeroU32,
    ) -> Result<Option<f64>, Error> {
        let size = f64::from(per_minute.get());
        let count = async {
            let mut transaction = self.db.begin_unflushed().await?;
            let admitted = query!("apps/admit_request.sql", &key.owner, &key.app_id, size)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            if admitted.rows_affected() > 0 {
                return Ok(None);
            }
            // An app that was deleted meanwhile has no row: its key is refused the next time.
            let next: Option<Option<f64>> =
                query_scalar!("apps/next_request_in.sql", &key.owner, &key.app_id, size)
                    .fetch_optional(self.db.pool())
                    .await?;
            Ok(Some(next.flatten().unwrap_or_default()))
        };
        self.db.in_time(count).await
    }
}
