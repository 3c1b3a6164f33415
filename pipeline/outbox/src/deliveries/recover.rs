//! Once more, all that did not get through: asked for by its owner or by an operator, it is the same.

use std::time::{Duration, Instant};

use db::{Error, query_as};
use records::{Timestamp, UserId};
use sqlx::PgConnection;

use super::read::share_endpoint;
use crate::Outbox;

/// How many one transaction makes due again.
const BATCH: i64 = 1_000;

/// For how long a request begins a further one: it is answered before it is given up.
pub const RECOVERS_FOR: Duration = Duration::from_secs(5);

impl Outbox {
    /// Makes every delivery of an endpoint that happened at or after `since` and was given up (exhausted, or cancelled when
    /// the endpoint said 410) due again, under its own id, with a round of tries of its own; at a disabled endpoint they
    /// wait until it is enabled. What was about a deleted conversation stays cancelled. Of very many it reaches those whose batch
    /// was begun within `longest`. `None`: no such endpoint.
    ///
    /// # Errors
    /// When the database does not answer; what was made due by then stays due.
    pub async fn recover(
        &self,
        user: &UserId,
        endpoint: &str,
        since: Timestamp,
        longest: Duration,
    ) -> Result<Option<Recovery>, Error> {
        let began = Instant::now();
        // What ends after this moment belongs to the new round, or the loop could follow it for ever.
        let begun = self.db.now().await?;
        let mut deliveries = 0;
        loop {
            let (mut transaction, now) = self.db.begin().await?;
            let Some(enabled) = share_endpoint(&mut transaction, user, endpoint).await? else {
                return Ok(None);
            };
            let lost = Lost { since, begun, limit: BATCH };
            let due_at = enabled.then_some(now);
            let batch = make_lost_due(&mut transaction, (user, endpoint), &lost, due_at).await?;
            transaction.commit().await?;
            deliveries += batch.deliveries;
            if batch.deliveries > 0 {
                self.db.waker().deliveries_written();
            }
            let next = batch.last.filter(|_| batch.deliveries == BATCH);
            if next.is_none() || began.elapsed() >= longest {
                return Ok(Some(Recovery { deliveries, next }));
            }
        }
    }
}

/// What was recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// How many deliveries.
    pub deliveries: i64,
    /// Where there may be more: what happened from this moment on was not reached.
    pub next: Option<Timestamp>,
}

/// A batch of what was lost.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Batch {
    /// How many deliveries.
    pub deliveries: i64,
    /// When the last of them happened.
    last: Option<Timestamp>,
}

/// What is to be recovered.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// What happened at this moment or later.
    pub since: Timestamp,
    /// Deliveries given up before this moment: a caller that goes batch by batch does not follow those that fail again.
    pub begun: Timestamp,
    /// At most so many, oldest first.
    pub limit: i64,
}

/// Makes a batch of what an endpoint lost due at `due_at`, or as soon as it is enabled. The caller shares the endpoint's row.
pub async fn make_lost_due(
    connection: &mut PgConnection,
    (user, endpoint): (&UserId, &str),
    lost: &Lost,
    due_at: Option<Timestamp>,
) -> Result<Batch, sqlx::Error> {
    query_as!("deliveries/recover.sql", user, endpoint, lost.since, lost.begun, due_at, lost.limit)
        .fetch_one(connection)
        .await
}
