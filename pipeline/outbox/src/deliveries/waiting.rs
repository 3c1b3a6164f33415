//! What waits for one endpoint, moved together: parked, woken, deferred or cancelled. A bounded number at a time: one
//! statement for all that waits would hold the endpoint's row, and what it moves, for seconds, and at some number for longer
//! than a statement may take: then for ever. What one call leaves, the next claim that finds it due goes on with.
//!
//! What is moved is chosen in a `with`: a choice with a limit that stands in `from` may be made anew for every row that it is
//! joined with, a next batch each time.

use db::{query, query_as, sql};
use records::Timestamp;
use sqlx::PgConnection;

/// How many deliveries are moved at once.
const MOVED: i64 = 1_000;

/// What waits for an endpoint that was just disabled waits until it is enabled: at `infinity`, where no claim
/// spins over it. What comes first is moved now, and the rest by the claims that find it due. The caller holds the
/// endpoint's row.
pub(crate) async fn park(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
) -> Result<(), sqlx::Error> {
    query!("deliveries/park.sql", user, endpoint, MOVED).execute(connection).await.map(drop)
}

/// A batch of what was parked is due now. Where more is left the endpoint is marked, and claims wake the rest
/// (`wake_more`). The caller holds the endpoint's row.
pub async fn wake(
    connection: &mut PgConnection,
    user: &str,
    endpoint: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    query!("deliveries/wake.sql", user, endpoint, now, MOVED).execute(&mut *connection).await?;
    // A statement of its own: it sees what the one before has left, and what another session held.
    query!("deliveries/mark_waking.sql", user, endpoint).execute(connection).await.map(drop)
}

/// The next batch of an endpoint that was enabled when more was parked than one batch, if there is one.
pub(super) async fn wake_more(connection: &mut PgConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    let waking: Option<(String, String)> =
        query_as!("deliveries/lock_waking.sql").fetch_optional(&mut *connection).await?;
    match waking {
        Some((user, endpoint)) => wake(connection, &user, &endpoint, now).await,
        None => Ok(()),
    }
}

/// What is due at an endpoint.
pub(super) const DUE: &str = sql!("deliveries/defer.sql");
/// What was sent to it by a sender that died. It has lost its claim, as when another one had taken the row: the error says so,
/// for the epoch stays, and its late word may be that of the try before.
pub(super) const DEAD: &str = sql!("deliveries/defer_dead.sql");

/// What is `of` an endpoint that can take nothing waits `until` then; without a moment, until it is enabled.
pub(super) async fn defer(
    connection: &mut PgConnection,
    of: &'static str,
    (user, endpoint): (&str, &str),
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(of)
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
    query!("deliveries/cancel_waiting.sql", user, endpoint, by, now, MOVED)
        .execute(connection)
        .await
        .map(drop)
}
