//! An endpoint's row, and what its being switched on or off means for the deliveries that wait for it.

use records::{Timestamp, UserId};
use sqlx::PgConnection;

use super::{Endpoint, EndpointChange};
use crate::error::Error;

/// The columns as the table holds them; the secret stays there.
#[derive(sqlx::FromRow)]
pub(crate) struct EndpointRow {
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
        })
    }
}

/// Changes an endpoint. Enabling clears every mark of failure; disabling one that is disabled keeps its reason.
pub(crate) async fn change(
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
             created_at, updated_at",
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

/// How many deliveries are moved at once. One statement for all that wait would hold the endpoint's row, and what it moves,
/// for seconds, and at some number for longer than a statement may take: then for ever.
const MOVED: i64 = 1_000;

/// What waits for an endpoint that was just disabled waits until it is enabled: at `infinity`, where no claim
/// spins over it. What comes first is moved now, and the rest by the claims that find it due. The caller holds the
/// endpoint's row.
pub(crate) async fn park_deliveries(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update webhook_deliveries d set next_at = 'infinity' \
         from (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at < 'infinity' \
             order by next_at limit $3 for update skip locked) p \
         where d.user_id = $1 and d.endpoint_id = $2 and d.delivery_id = p.delivery_id",
    )
    .bind(user)
    .bind(endpoint)
    .bind(MOVED)
    .execute(connection)
    .await
    .map(drop)
}

/// A batch of what was parked is due now. Where more is left the endpoint is marked, and claims wake the rest
/// ([`wake_more`]). The caller holds the endpoint's row.
pub(crate) async fn wake_deliveries(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update webhook_deliveries d set next_at = $3 \
         from (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at = 'infinity' \
             limit $4 for update skip locked) p \
         where d.user_id = $1 and d.endpoint_id = $2 and d.delivery_id = p.delivery_id",
    )
    .bind(user)
    .bind(endpoint)
    .bind(now)
    .bind(MOVED)
    .execute(&mut *connection)
    .await?;
    // A statement of its own: it sees what the one before has left, and what somebody else held.
    sqlx::query(
        "update webhook_endpoints set waking = exists (select from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at = 'infinity') \
         where user_id = $1 and endpoint_id = $2",
    )
    .bind(user)
    .bind(endpoint)
    .execute(connection)
    .await
    .map(drop)
}

/// The next batch of an endpoint that was enabled when more was parked than one batch, if there is one.
pub(crate) async fn wake_more(connection: &mut PgConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    let waking: Option<(String, String)> = sqlx::query_as(
        "select user_id, endpoint_id from webhook_endpoints where waking and enabled \
         order by user_id, endpoint_id limit 1 for no key update skip locked",
    )
    .fetch_optional(&mut *connection)
    .await?;
    match waking {
        Some((user, endpoint)) => wake_deliveries(connection, &user, &endpoint, now).await,
        None => Ok(()),
    }
}
