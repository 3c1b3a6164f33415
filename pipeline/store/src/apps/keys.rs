//! Keys of apps: with one an app writes to its users. SHA-256 at rest, as developers' keys.

use db::{Doing, Error, idempotency::forget_answers, lock_user};
use records::{Timestamp, UserId};

use crate::Store;

/// How many live keys an app may have.
const MOST: i64 = 20;
/// How many revoked ones are kept to be looked at.
const DEAD: i64 = 20;

/// A key to be stored; its text never gets here.
#[derive(Clone, Debug)]
pub struct NewAppKey {
    /// Its id.
    pub id: String,
    /// What its owner calls it.
    pub label: String,
    /// A hint such as `lak_ab12…wxyz`.
    pub prefix: String,
    /// SHA-256 of its text.
    pub sha256: [u8; 32],
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AppKey {
    /// Its id.
    #[sqlx(rename = "key_id")]
    pub id: String,
    /// What its owner calls it.
    pub label: String,
    /// The hint.
    #[sqlx(rename = "key_prefix")]
    pub prefix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Whose key it is, and of which app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppKeyOwner {
    /// The app's owner.
    pub owner: UserId,
    /// The key.
    pub key_id: String,
    /// The app.
    pub app_id: String,
}

/// Why a key was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppKeyRefusal {
    /// The user owns no such app.
    NoSuchApp,
    /// As many live keys as an app may have.
    TooMany,
}

#[derive(sqlx::FromRow)]
struct OwnerRow {
    user_id: String,
    key_id: String,
    app_id: String,
    is_unnoted: bool,
}

impl Store {
    /// Makes a key of an app.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_app_key(
        &self,
        owner: &UserId,
        app: &str,
        key: &NewAppKey,
    ) -> Result<Result<AppKey, AppKeyRefusal>, Error> {
        const DOING: &str = "making an app's key";
        // The app's id leads the list: an answer that is lost with its process is rebuilt from both.
        let (mut transaction, now) = self.db.begin_creating(DOING, &[app, &key.id]).await?;
        lock_user(&mut transaction, owner).await?;
        let live: i64 = sqlx::query_scalar(
            "select count(*) from app_keys where user_id = $1 and app_id = $2 and revoked_at is null",
        )
        .bind(owner.as_str())
        .bind(app)
        .fetch_one(&mut *transaction)
        .await
        .doing(DOING)?;
        if live >= MOST {
            return Ok(Err(AppKeyRefusal::TooMany));
        }
        let stored: Option<AppKey> = sqlx::query_as(
            "insert into app_keys (user_id, key_id, app_id, label, key_prefix, key_sha256, created_at) \
             select user_id, $3, app_id, $4, $5, $6, $7 from apps where user_id = $1 and app_id = $2 \
             returning key_id, label, key_prefix, created_at, last_used_at, revoked_at",
        )
        .bind(owner.as_str())
        .bind(app)
        .bind(&key.id)
        .bind(&key.label)
        .bind(&key.prefix)
        .bind(key.sha256.as_slice())
        .bind(now)
        .fetch_optional(&mut *transaction)
        .await
        .doing(DOING)?;
        let Some(stored) = stored else { return Ok(Err(AppKeyRefusal::NoSuchApp)) };
        sqlx::query(
            "delete from app_keys where user_id = $1 and key_id in (select key_id from app_keys \
                 where user_id = $1 and app_id = $2 and revoked_at is not null \
                 order by created_at desc, key_id offset $3)",
        )
        .bind(owner.as_str())
        .bind(app)
        .bind(DEAD)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(Ok(stored))
    }

    /// The keys of an app of the user's, newest first; none of another user's app.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn app_keys(&self, owner: &UserId, app: &str) -> Result<Vec<AppKey>, Error> {
        sqlx::query_as(
            "select key_id, label, key_prefix, created_at, last_used_at, revoked_at from app_keys \
             where user_id = $1 and app_id = $2 order by created_at desc, key_id",
        )
        .bind(owner.as_str())
        .bind(app)
        .fetch_all(self.db.pool())
        .await
        .doing("listing an app's keys")
    }

    /// Revokes a key at once. `false`: the app has no live key of that id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn revoke_app_key(&self, owner: &UserId, app: &str, id: &str) -> Result<bool, Error> {
        const DOING: &str = "revoking an app's key";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let revoked = sqlx::query(
            "update app_keys set revoked_at = $4 \
             where user_id = $1 and app_id = $2 and key_id = $3 and revoked_at is null",
        )
        .bind(owner.as_str())
        .bind(app)
        .bind(id)
        .bind(now)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        forget_answers(&mut transaction, owner, &[id]).await.doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(revoked.rows_affected() > 0)
    }

    /// The app behind a live key; its last use is noted at most once a minute.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn app_key_owner(&self, sha256: &[u8; 32]) -> Result<Option<AppKeyOwner>, Error> {
        let read = async {
            let found: Option<OwnerRow> = sqlx::query_as(include_str!("../../sql/apps/key_owner.sql"))
                .bind(sha256.as_slice())
                .fetch_optional(self.db.pool())
                .await
                .doing("looking up an app's key")?;
            let Some(row) = found else { return Ok(None) };
            if row.is_unnoted
                && let Err(error) = self.note_app_key_use(&row).await
            {
                tracing::warn!(%error, "the use of an app's key could not be noted");
            }
            Ok(Some(AppKeyOwner { owner: UserId::new(row.user_id), key_id: row.key_id, app_id: row.app_id }))
        };
        self.db.in_time(read).await
    }

    async fn note_app_key_use(&self, key: &OwnerRow) -> Result<(), Error> {
        const DOING: &str = "noting the use of an app's key";
        let mut transaction = self.db.begin_without_clock(DOING).await?;
        sqlx::query("set local synchronous_commit = off").execute(&mut *transaction).await.doing(DOING)?;
        sqlx::query(include_str!("../../sql/apps/note_key_use.sql"))
            .bind(&key.user_id)
            .bind(&key.key_id)
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
        transaction.commit().await.doing(DOING)
    }
}
