//! Webhook endpoints (DECISIONS §6).

use db::{Error, idempotency::forget_answers, lock_user};
use records::{EventKind, Timestamp, UserId, WebhookFormat};
use secrecy::SecretString;

use crate::{Outbox, deliveries::waiting};

mod create;
pub mod row;
mod secret;

pub use create::EndpointRefusal;
use row::{EndpointRow, is_of_another};

/// An endpoint to be created.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub id: String,
    pub url: String,
    pub events: Vec<EventKind>,
    /// Full, thin or bare.
    pub format: WebhookFormat,
    /// Whether it receives anything.
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

/// Why an endpoint is not changed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointChangeRefusal {
    /// The user has no such endpoint.
    Missing,
    /// Another endpoint of the user has this URL, and `force` was not asked for.
    SameUrl,
}

impl Outbox {
    /// A person's endpoints, newest first.
    pub async fn endpoints(&self, user: &UserId) -> Result<Vec<Endpoint>, Error> {
        let rows: Vec<EndpointRow> = sqlx::query_as(include_str!("../sql/endpoints/list.sql"))
            .bind(user.as_str())
            .fetch_all(self.db.pool())
            .await?;
        rows.into_iter().map(Endpoint::try_from).collect()
    }

    /// One endpoint.
    pub async fn endpoint(&self, user: &UserId, id: &str) -> Result<Option<Endpoint>, Error> {
        let row: Option<EndpointRow> = sqlx::query_as(include_str!("../sql/endpoints/get.sql"))
            .bind(user.as_str())
            .bind(id)
            .fetch_optional(self.db.pool())
            .await?;
        row.map(Endpoint::try_from).transpose()
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
            if is_of_another(&mut transaction, user, id, url).await? {
                return Ok(Err(EndpointChangeRefusal::SameUrl));
            }
        }
        let Some(row) = row::change(&mut transaction, user, id, change, now).await? else {
            return Ok(Err(EndpointChangeRefusal::Missing));
        };
        match change.enabled {
            Some(true) => waiting::wake(&mut transaction, user.as_str(), id, now).await?,
            Some(false) => waiting::park(&mut transaction, user.as_str(), id).await?,
            None => {}
        }
        transaction.commit().await?;
        if change.enabled == Some(true) {
            self.db.waker().deliveries_written();
        }
        row.try_into().map(Ok)
    }

    /// Deletes an endpoint with its deliveries, and forgets what was answered of it. `false`: no such endpoint.
    pub async fn delete_endpoint(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let deleted = sqlx::query(include_str!("../sql/endpoints/delete.sql"))
            .bind(user.as_str())
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        forget_answers(&mut transaction, user, &[id]).await?;
        transaction.commit().await?;
        Ok(deleted.rows_affected() > 0)
    }
}
