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
    sqlx::query_scalar(include_str!("../../sql/endpoints/is_of_another.sql"))
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
    sqlx::query_as(include_str!("../../sql/endpoints/update.sql"))
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
