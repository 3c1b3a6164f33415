//! What waits for one endpoint, moved together: parked, woken, deferred or cancelled. A bounded number at a time: one
//! statement for all that waits would hold the endpoint's row, and what it moves, for seconds, and at some number for longer
//! than a statement may take: then for ever. What one call leaves, the next claim that finds it due goes on with.
//!
//! What is moved is chosen in a `with`: a choice with a limit that stands in `from` may be made anew for every row that it is
//! joined with, a next batch each time.

use records::Timestamp;
use sqlx::PgConnection;

/// How many deliveries are moved at once.
pub(super) const MOVED: i64 = 1_000;

/// What waits for an endpoint that was just disabled waits until it is enabled: at `infinity`, where no claim
/// spins over it. What comes first is moved now, and the rest by the claims that find it due. The caller holds the
/// endpoint's row.
pub(crate) async fn park(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with coming as (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at < 'infinity' \
             order by next_at limit $3 for update skip locked) \
         update webhook_deliveries d set next_at = 'infinity' \
         where d.user_id = $1 and d.endpoint_id = $2 \
             and d.delivery_id = any(array(select delivery_id from coming))",
    )
    .bind(user)
    .bind(endpoint)
    .bind(MOVED)
    .execute(connection)
    .await
    .map(drop)
}

/// A batch of what was parked is due now. Where more is left the endpoint is marked, and claims wake the rest
/// (`wake_more`). The caller holds the endpoint's row.
pub async fn wake(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with parked as (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at = 'infinity' \
             limit $4 for update skip locked) \
         update webhook_deliveries d set next_at = $3 \
         where d.user_id = $1 and d.endpoint_id = $2 \
             and d.delivery_id = any(array(select delivery_id from parked))",
    )
    .bind(user)
    .bind(endpoint)
    .bind(now)
    .bind(MOVED)
    .execute(&mut *connection)
    .await?;
    // A statement of its own: it sees what the one before has left, and what another session held.
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
pub(super) async fn wake_more(connection: &mut PgConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    let waking: Option<(String, String)> = sqlx::query_as(
        "select user_id, endpoint_id from webhook_endpoints where waking and enabled \
         order by user_id, endpoint_id limit 1 for no key update skip locked",
    )
    .fetch_optional(&mut *connection)
    .await?;
    match waking {
        Some((user, endpoint)) => wake(connection, &user, &endpoint, now).await,
        None => Ok(()),
    }
}

/// What is due at an endpoint that can take nothing waits `until` then; without a moment, until it is enabled.
pub(super) async fn defer(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with waiting as (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' and next_at <= $3 \
             limit $5 for update skip locked) \
         update webhook_deliveries d set next_at = coalesce($4::timestamptz, 'infinity') \
         where d.user_id = $1 and d.endpoint_id = $2 \
             and d.delivery_id = any(array(select delivery_id from waiting))",
    )
    .bind(user)
    .bind(endpoint)
    .bind(now)
    .bind(until)
    .bind(MOVED)
    .execute(connection)
    .await
    .map(drop)
}

/// The same for those whose sender died. It has lost its claim, as when another one had taken the row: the error says so, for
/// the epoch stays, and its late word may be that of the try before.
pub(super) async fn defer_dead(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with dead as (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'sending' and sending_until <= $3 \
             limit $5 for update skip locked) \
         update webhook_deliveries d set status = 'pending', sending_until = null, \
             next_at = coalesce($4::timestamptz, 'infinity'), last_error = 'abandoned' \
         where d.user_id = $1 and d.endpoint_id = $2 \
             and d.delivery_id = any(array(select delivery_id from dead))",
    )
    .bind(user)
    .bind(endpoint)
    .bind(now)
    .bind(until)
    .bind(MOVED)
    .execute(connection)
    .await
    .map(drop)
}

/// Cancels what waits for an endpoint that wants nothing more: everything, or what is due `by` a moment. What was written
/// or redelivered after its 410 waits at `infinity`, and is never due.
pub(super) async fn cancel(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    by: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with unwanted as (select delivery_id from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and status = 'pending' \
                 and next_at <= coalesce($3::timestamptz, 'infinity') \
             limit $5 for update skip locked) \
         update webhook_deliveries d set status = 'cancelled', next_at = null, body = null, finished_at = $4 \
         where d.user_id = $1 and d.endpoint_id = $2 \
             and d.delivery_id = any(array(select delivery_id from unwanted))",
    )
    .bind(user)
    .bind(endpoint)
    .bind(by)
    .bind(now)
    .bind(MOVED)
    .execute(connection)
    .await
    .map(drop)
}
