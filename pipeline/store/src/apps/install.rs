//! Installing and uninstalling an app.

use std::time::Duration;

use db::{Error, lock_user, query, query_as, query_scalar, secrets::Context, sql};
use records::{EventKind, UserId, WebhookFormat};
use tokio::time::Instant;
use uuid::Uuid;

use crate::Store;

/// How many apps a user may have installed.
const MOST: i64 = 50;

/// Webhooks that one transaction moves with their apps.
const MOVED: u64 = 500;
/// Webhooks that one transaction removes: their deliveries go with them, a month's of each.
const REMOVED: u64 = 100;
/// No further transaction is begun after that time: with the longest statement, all are over before the caller's time limit.
const BEGUN_WITHIN: Duration = Duration::from_secs(4);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallRefusal {
    /// There is no such app, or it is another user's private one.
    NoSuchApp,
    SwitchedOff,
    TooMany,
}

#[derive(sqlx::FromRow)]
struct Wanted {
    owner_id: String,
    webhook_url: Option<String>,
    secret: String,
    is_switched_off: bool,
}

impl Store {
    /// Installs an app for a user, with a webhook of the user's where the app takes conversations. Doing so again changes nothing,
    /// but makes that webhook if the app takes conversations only since then.
    pub async fn install_app(&self, user: &UserId, id: &str) -> Result<Result<(), InstallRefusal>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        lock_user(&mut transaction, user).await?;
        let wanted: Option<Wanted> =
            query_as!("apps/to_install.sql", user, id).fetch_optional(&mut *transaction).await?;
        let Some(wanted) = wanted else { return Ok(Err(InstallRefusal::NoSuchApp)) };
        if wanted.is_switched_off {
            return Ok(Err(InstallRefusal::SwitchedOff));
        }
        let others: i64 =
            query_scalar!("apps/count_other_installs.sql", user, id).fetch_one(&mut *transaction).await?;
        if others >= MOST {
            return Ok(Err(InstallRefusal::TooMany));
        }
        query!("apps/install.sql", user, id, &wanted.owner_id, now).execute(&mut *transaction).await?;
        if let Some(url) = &wanted.webhook_url {
            let endpoint = endpoint_id(user, id);
            let secret = self.db.secrets().open(Context::app(&wanted.owner_id, id), &wanted.secret)?;
            let sealed = self.db.secrets().seal(Context::endpoint(user.as_str(), &endpoint), &secret)?;
            query!(
                "apps/make_endpoint.sql",
                user,
                &endpoint,
                id,
                url,
                [EventKind::ConversationCompleted.as_str()],
                WebhookFormat::Bare.as_str(),
                sealed,
                now
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// Uninstalls an app, with its webhook. How often it wrote within the hour is remembered for that hour. `false`: it was
    /// not installed.
    pub async fn uninstall_app(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        lock_user(&mut transaction, user).await?;
        let removed = query!("apps/uninstall.sql", user, id, now).execute(&mut *transaction).await?;
        query!("apps/delete_endpoint.sql", user, id).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(removed.rows_affected() > 0)
    }

    /// Brings webhooks of installed apps up to date with their app, or with all apps: moved to another address, or removed where
    /// the app is gone, takes no conversations any more, is switched off or is another user's private app. Each batch is a
    /// transaction of its own, over rows of the users who installed it. Rows that another transaction has locked are left to the next
    /// call, and so is what is left after a few seconds. Returns how many were changed.
    ///
    /// # Errors
    /// When the database does not answer: the round does it again.
    pub async fn follow_apps(&self, app: Option<&str>) -> Result<u64, Error> {
        let (began, mut changed) = (Instant::now(), 0);
        for (statement, batch) in
            [(sql!("apps/move_endpoints.sql"), MOVED), (sql!("apps/orphan_endpoints.sql"), REMOVED)]
        {
            while began.elapsed() < BEGUN_WITHIN {
                let (mut transaction, _) = self.db.begin().await?;
                let done = sqlx::query(statement).bind(app).bind(batch.cast_signed());
                let done = done.execute(&mut *transaction).await?.rows_affected();
                transaction.commit().await?;
                changed += done;
                if done < batch {
                    break;
                }
            }
        }
        Ok(changed)
    }
}

/// The id of the webhook of an installed app: one per user and app, however often it is installed.
fn endpoint_id(user: &UserId, app: &str) -> String {
    Uuid::new_v5(&ENDPOINTS, format!("{}:{user}{app}", user.as_str().len()).as_bytes()).to_string()
}

/// The namespace of these ids; part of the durable contract.
const ENDPOINTS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f61_7070_5f68_6f6f_6b00);
