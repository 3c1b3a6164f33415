//! Webhook endpoints (DECISIONS §6).

use db::{Error, lock_user, query, query_as, query_scalar, secrets::Context, sql};
use records::{EventKind, Timestamp, UserId, WebhookFormat};
use secrecy::SecretString;
use sqlx::{FromRow, PgConnection, postgres::PgRow};

use crate::{Outbox, deliveries::waiting};

/// How many a user may have (DECISIONS §6): every event is sent to each of them, at the cost of all users' turns.
const MOST: i64 = 20;

#[derive(Clone, Debug)]
pub struct NewEndpoint {
    pub id: String,
    /// Checked by the guard.
    pub url: String,
    pub events: Vec<EventKind>,
    /// Full, thin or bare.
    pub format: WebhookFormat,
    /// `whsec_…`.
    pub secret: SecretString,
    /// Also where the user has one with this URL already.
    pub force: bool,
}

/// A stored endpoint, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Endpoint {
    #[sqlx(rename = "endpoint_id")]
    pub id: String,
    pub url: String,
    #[sqlx(try_from = "EventNames")]
    pub events: Vec<EventKind>,
    /// Full, thin or bare.
    #[sqlx(try_from = "String")]
    pub format: WebhookFormat,
    pub enabled: bool,
    /// Why not: `by_owner`, `gone` (410) or `failing` (5 days of nothing but failures).
    pub disabled_reason: Option<String>,
    /// Since when nothing got through.
    pub failing_since: Option<Timestamp>,
    /// The last 2xx.
    pub last_success_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The app whose installation made it; `None`: the user's own.
    pub app_id: Option<String>,
}

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default)]
pub struct EndpointChange {
    /// Checked by the guard.
    pub url: Option<String>,
    pub events: Option<Vec<EventKind>>,
    /// Full, thin or bare.
    pub format: Option<WebhookFormat>,
    /// Enabling clears every mark of failure.
    pub enabled: Option<bool>,
    /// Also to the URL of another endpoint of the user.
    pub force: bool,
}

/// Why an endpoint is not made. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointRefusal {
    TooMany,
    /// The user has one with this URL, and `force` was not asked for.
    SameUrl,
}

/// Why an endpoint is not changed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointChangeRefusal {
    Missing,
    /// Another endpoint of the user has this URL, and `force` was not asked for.
    SameUrl,
}

impl Outbox {
    pub async fn endpoints(&self, user: &UserId) -> Result<Vec<Endpoint>, Error> {
        let all = query_as!("endpoints/list.sql", user);
        Ok(all.fetch_all(self.db.pool()).await?)
    }

    pub async fn endpoint(&self, user: &UserId, id: &str) -> Result<Option<Endpoint>, Error> {
        let one = query_as!("endpoints/get.sql", user, id);
        Ok(one.fetch_optional(self.db.pool()).await?)
    }

    /// Stores an endpoint. Those of installed apps do not count; those that are switched off count, too: they can be switched on again at any time.
    pub async fn create_endpoint(
        &self,
        user: &UserId,
        new: &NewEndpoint,
    ) -> Result<Result<Endpoint, EndpointRefusal>, Error> {
        let events: Vec<&str> = new.events.iter().map(|event| event.as_str()).collect();
        let secret = self.db.secrets().seal(Context::endpoint(user.as_str(), &new.id), &new.secret)?;
        let (mut transaction, _) = self.db.begin_creating(&[&new.id]).await?;
        lock_user(&mut transaction, user).await?;
        let (others, same_url): (i64, bool) =
            query_as!("endpoints/count_own.sql", user, &new.url).fetch_one(&mut *transaction).await?;
        if same_url && !new.force {
            return Ok(Err(EndpointRefusal::SameUrl));
        }
        if others >= MOST {
            return Ok(Err(EndpointRefusal::TooMany));
        }
        let endpoint =
            query_as!("endpoints/create.sql", user, &new.id, &new.url, events, new.format.as_str(), secret)
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(Ok(endpoint))
    }

    /// Changes an endpoint. A change that repeats the URL that the endpoint has is no conflict.
    pub async fn change_endpoint(
        &self,
        user: &UserId,
        id: &str,
        change: &EndpointChange,
    ) -> Result<Result<Endpoint, EndpointChangeRefusal>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        if let Some(url) = change.url.as_deref().filter(|_| !change.force) {
            // As creating does: two that ask for one URL at once take turns.
            lock_user(&mut transaction, user).await?;
            let of_another = query_scalar!("endpoints/is_of_another.sql", user, id, url);
            if of_another.fetch_one(&mut *transaction).await? {
                return Ok(Err(EndpointChangeRefusal::SameUrl));
            }
        }
        let Some(changed) = write_change(&mut transaction, user, id, change, now).await? else {
            return Ok(Err(EndpointChangeRefusal::Missing));
        };
        let endpoint = Endpoint::from_row(&changed)?;
        match change.enabled {
            Some(true) => waiting::wake(&mut transaction, user.as_str(), id, now).await?,
            Some(false) => waiting::park(&mut transaction, user.as_str(), id).await?,
            None => {}
        }
        transaction.commit().await?;
        if change.enabled == Some(true) {
            self.db.waker().deliveries_written();
        }
        Ok(Ok(endpoint))
    }

    /// Gives an endpoint a new secret. For 24 hours deliveries carry a signature of each, the new one first. Said once more
    /// within that time, it replaces the new one alone: the answer that held it may have been lost, and what receivers have
    /// signs until its 24 hours are over. `None`: no such endpoint.
    pub async fn rotate_secret(
        &self,
        user: &UserId,
        id: &str,
        secret: &SecretString,
    ) -> Result<Option<Endpoint>, Error> {
        let sealed = self.db.secrets().seal(Context::endpoint(user.as_str(), id), secret)?;
        let rotated = query_as!("endpoints/rotate_secret.sql");
        Ok(rotated.bind(user.as_str()).bind(id).bind(sealed).fetch_optional(self.db.pool()).await?)
    }

    /// Deletes an endpoint with its deliveries, and forgets what was answered of it. `false`: no such endpoint.
    pub async fn delete_endpoint(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let deliveries = sql!("endpoints/delete_deliveries.sql");
        self.db.delete_with_rows(deliveries, sql!("endpoints/delete.sql"), user, id).await
    }
}

/// The column's names of events.
#[derive(sqlx::Type)]
#[sqlx(transparent, no_pg_array)]
struct EventNames(Vec<String>);

impl TryFrom<EventNames> for Vec<EventKind> {
    type Error = String;

    fn try_from(EventNames(names): EventNames) -> Result<Self, String> {
        names.into_iter().map(EventKind::try_from).collect()
    }
}

/// Changes an endpoint's row, and returns it unread: an operator enables one whose events only a newer version knows. Enabling
/// clears every mark of failure; disabling one that is disabled keeps its reason.
pub async fn write_change(
    connection: &mut PgConnection,
    user: &UserId,
    id: &str,
    change: &EndpointChange,
    now: Timestamp,
) -> Result<Option<PgRow>, sqlx::Error> {
    let events: Option<Vec<&str>> =
        change.events.as_ref().map(|events| events.iter().map(|event| event.as_str()).collect());
    query!(
        "endpoints/update.sql",
        user,
        id,
        now,
        change.url.as_deref(),
        events,
        change.format.map(|format| format.as_str()),
        change.enabled
    )
    .fetch_optional(connection)
    .await
}
