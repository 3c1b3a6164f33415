//! Where the raw audio of a user's live sessions is posted (`docs/live.md`). One for each user; its audio is never stored.

use chrono::TimeDelta;
use db::{Error, query, query_as, secrets::Context};
use records::{Timestamp, UserId};
use secrecy::SecretString;

use crate::{
    Outbox,
    health::{Patience, ReceiverHealth},
    tries::Health,
};

/// Failures in a row, across all processes, after which it is disabled.
const MOST_FAILURES: i32 = 100;

/// What a user sets.
#[derive(Clone, Debug)]
pub struct NewAudioWebhook {
    /// Checked by the guard.
    pub url: String,
    /// Seconds of audio in each request, 1 to 60.
    pub seconds: i32,
    /// `whsec_…`; used when the URL is a new one, or with `replace_secret`.
    pub secret: SecretString,
    /// Whether the secret replaces an existing one.
    pub replace_secret: bool,
}

/// What is set, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AudioWebhook {
    pub url: String,
    /// Seconds of audio in each request.
    pub seconds: i32,
    pub enabled: bool,
    /// Why not: `by_owner`, `gone` (410) or `failing` (100 failures in a row).
    pub disabled_reason: Option<String>,
    /// Since when nothing got through.
    pub failing_since: Option<Timestamp>,
    /// The last 2xx, to the minute.
    pub last_success_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// When its owner last changed it.
    pub updated_at: Timestamp,
    /// The secret that was brought is the one that signs from now on.
    pub is_new_secret: bool,
}

/// What a process posts with.
#[derive(Clone, Debug)]
pub struct AudioReceiver {
    pub url: String,
    /// Seconds of audio in each request.
    pub seconds: i32,
    /// Signs the requests.
    pub secret: SecretString,
    /// What became of a request is noted for this version.
    pub version: i64,
    /// The database's time.
    pub now: Timestamp,
}

/// The same as the table has it, its secret sealed.
#[derive(sqlx::FromRow)]
struct StoredReceiver {
    url: String,
    seconds: i32,
    secret: String,
    version: i64,
    now: Timestamp,
}

impl Outbox {
    /// Sets the user's audio webhook and enables it. `None`: no such user.
    pub async fn set_audio_webhook(
        &self,
        user: &UserId,
        new: &NewAudioWebhook,
    ) -> Result<Option<AudioWebhook>, Error> {
        let secret = self.db.secrets().seal(Context::audio(user.as_str()), &new.secret)?;
        let (mut transaction, now) = self.db.begin().await?;
        let set =
            query_as!("audio_webhooks/set.sql", user, &new.url, new.seconds, secret, new.replace_secret, now)
                .fetch_optional(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(set)
    }

    pub async fn audio_webhook(&self, user: &UserId) -> Result<Option<AudioWebhook>, Error> {
        Ok(query_as!("audio_webhooks/read.sql", user).fetch_optional(self.db.pool()).await?)
    }

    /// Enables or disables it, as its owner asks. `None`: none is set.
    pub async fn switch_audio_webhook(
        &self,
        user: &UserId,
        enabled: bool,
    ) -> Result<Option<AudioWebhook>, Error> {
        Ok(query_as!("audio_webhooks/switch.sql", user, enabled).fetch_optional(self.db.pool()).await?)
    }

    /// Where the user's audio is to be posted; `None` where none is set, it is disabled, or the user is being deleted.
    ///
    /// # Errors
    /// When the database does not answer, or its secret cannot be opened.
    pub async fn audio_receiver(&self, user: &UserId) -> Result<Option<AudioReceiver>, Error> {
        let stored: Option<StoredReceiver> =
            query_as!("audio_webhooks/to_send.sql", user).fetch_optional(self.db.pool()).await?;
        let Some(StoredReceiver { url, seconds, secret, version, now }) = stored else { return Ok(None) };
        let secret = self.db.secrets().open(Context::audio(user.as_str()), &secret)?;
        Ok(Some(AudioReceiver { url, seconds, secret, version, now }))
    }

    /// Notes what a request that was sent under `version`, its second try included, says about the receiver.
    pub async fn note_audio_outcome(
        &self,
        user: &UserId,
        version: i64,
        try_says: Health,
    ) -> Result<(), Error> {
        // Nearly all requests are delivered, and change nothing: they take no lock.
        if try_says == Health::Alive {
            let found: Option<HealthNow> =
                query_as!("audio_webhooks/health.sql", user, version).fetch_optional(self.db.pool()).await?;
            if found.and_then(|found| after(&found.health, try_says, found.now)).is_none() {
                return Ok(());
            }
        }
        let (mut transaction, now) = self.db.begin().await?;
        let health: Option<ReceiverHealth> =
            query_as!("audio_webhooks/lock.sql", user, version).fetch_optional(&mut *transaction).await?;
        let changed = health.and_then(|health| after(&health, try_says, now));
        if let Some(health) = changed {
            query!(
                "audio_webhooks/store_health.sql",
                user,
                health.enabled,
                health.disabled_reason,
                health.failing_since,
                health.consecutive_failures,
                health.last_success_at
            )
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// The health of an audio webhook, and when it was read.
#[derive(sqlx::FromRow)]
struct HealthNow {
    #[sqlx(flatten)]
    health: ReceiverHealth,
    now: Timestamp,
}

/// The health after a request. A success that changes nothing but its time is stored once a minute at most.
fn after(health: &ReceiverHealth, try_says: Health, now: Timestamp) -> Option<ReceiverHealth> {
    let is_noted = |at: Timestamp| now - at < TimeDelta::minutes(1);
    if try_says == Health::Alive
        && health.consecutive_failures == 0
        && health.last_success_at.is_some_and(is_noted)
    {
        return None;
    }
    health.after(try_says, Patience::Times(MOST_FAILURES), now)
}
