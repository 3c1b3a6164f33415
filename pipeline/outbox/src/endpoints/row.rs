//! An endpoint's row: how it is read and changed.

use db::Error;
use records::{Timestamp, UserId};
use sqlx::PgConnection;

use super::{Endpoint, EndpointChange};

/// The columns as the table holds them; the secret stays there.
#[derive(sqlx::FromRow)]
pub struct EndpointRow {
    endpoint_id: String,
    url: String,
    events: Vec<String>,
    format: String,
    enabled: bool,
    disabled_reason: Option<String>,
    failing_since: Option<Timestamp>,
    last_success_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    app_id: Option<String>,
}

impl TryFrom<EndpointRow> for Endpoint {
    type Error = Error;

    fn try_from(row: EndpointRow) -> Result<Self, Error> {
        let wrong =
            |column| Error::ImpossibleRow { table: "webhook_endpoints", id: row.endpoint_id.clone(), column };
        Ok(Self {
            events: row
                .events
                .iter()
                .map(|event| event.parse().map_err(|()| wrong("events")))
                .collect::<Result<_, _>>()?,
            format: row.format.parse().map_err(|()| wrong("format"))?,
            id: row.endpoint_id,
            url: row.url,
            enabled: row.enabled,
            disabled_reason: row.disabled_reason,
            failing_since: row.failing_since,
            last_success_at: row.last_success_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
            app_id: row.app_id,
        })
    }
}

/// Whether the endpoint would get the URL of another one of the user's own.
pub async fn is_of_another(
    connection: &mut PgConnection,
    user: &UserId,
    id: &str,
    url: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "select exists (select from webhook_endpoints \
                 where user_id = $1 and endpoint_id = $2 and url <> $3) \
             and exists (select from webhook_endpoints \
                 where user_id = $1 and endpoint_id <> $2 and url = $3 and app_id is null)",
    )
    .bind(user.as_str())
    .bind(id)
    .bind(url)
    .fetch_one(connection)
    .await
}

/// Changes an endpoint. Enabling clears every mark of failure; disabling one that is disabled keeps its reason.
pub async fn change(
    connection: &mut PgConnection,
    user: &UserId,
    id: &str,
    change: &EndpointChange,
    now: Timestamp,
) -> Result<Option<EndpointRow>, sqlx::Error> {
    let events: Option<Vec<&str>> =
        change.events.as_ref().map(|events| events.iter().map(|event| event.as_str()).collect());
    sqlx::query_as(
        "update webhook_endpoints set updated_at = $3, url = coalesce($4, url), events = coalesce($5, events), \
             format = coalesce($6, format), enabled = coalesce($7, enabled), \
             disabled_reason = case $7 when true then null when false then coalesce(disabled_reason, 'by_owner') \
                 else disabled_reason end, \
             failing_since = case when $7 then null else failing_since end, \
             consecutive_failures = case when $7 then 0 else consecutive_failures end, \
             open_until = case when $7 then null else open_until end, \
             waking = waking and coalesce($7, true) \
         where user_id = $1 and endpoint_id = $2 \
         returning endpoint_id, url, events, format, enabled, disabled_reason, failing_since, last_success_at, \
             created_at, updated_at, app_id",
    )
    .bind(user.as_str())
    .bind(id)
    .bind(now)
    .bind(change.url.as_deref())
    .bind(events)
    .bind(change.format.map(|format| format.as_str()))
    .bind(change.enabled)
    .fetch_optional(connection)
    .await
}
