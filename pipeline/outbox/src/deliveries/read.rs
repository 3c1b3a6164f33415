//! Deliveries as their owner and operators see them, and what an owner may ask for: a test, and one more round of tries.

use std::time::Duration;

use db::{Error, query, query_as, query_scalar};
use records::{Timestamp, UserId};
use sqlx::PgConnection;

use super::{DeliveryPage, DeliveryView, TEST_EVENT};
use crate::Outbox;

/// What became of a request to deliver once more. Unless it is due, nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redelivery {
    Missing,
    /// Its tries have not ended.
    UnderWay,
    /// It is due again.
    Due(Box<DeliveryView>),
}

/// Why no test is sent. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRefusal {
    Missing,
    /// It would wait until the endpoint is enabled.
    Disabled,
}

/// Rows that are overdue belong to endpoints that can take no more now, or to a claim that another process is
/// making: looking again at once would only spin.
const OVERDUE_LOOK: Duration = Duration::from_millis(100);

impl Outbox {
    /// How long until something is due (also a dead sender's `until`), measured now; `None`: nothing waits.
    pub async fn next_delivery_in(&self) -> Result<Option<Duration>, Error> {
        let seconds: Option<f64> = query_scalar!("deliveries/next_in.sql").fetch_one(self.db.pool()).await?;
        let wait = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default().max(OVERDUE_LOOK);
        Ok(seconds.map(wait))
    }

    pub async fn deliveries(
        &self,
        user: &UserId,
        endpoint: &str,
        page: &DeliveryPage,
    ) -> Result<Vec<DeliveryView>, Error> {
        let after = page.after.as_ref();
        Ok(query_as!(
            "deliveries/list.sql",
            user,
            endpoint,
            page.limit,
            if after.is_some() { 0 } else { page.offset },
            page.status,
            after.map(|after| after.created_at),
            after.map(|after| after.id.as_str())
        )
        .fetch_all(self.db.pool())
        .await?)
    }

    pub async fn delivery(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
    ) -> Result<Option<DeliveryView>, Error> {
        Ok(query_as!("deliveries/get.sql", user, endpoint, delivery).fetch_optional(self.db.pool()).await?)
    }

    /// Writes a test delivery (`webhook.test`) to an enabled endpoint; a repeat with the same id finds the first one's row.
    pub async fn test_delivery(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
    ) -> Result<Result<DeliveryView, TestRefusal>, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[endpoint, delivery]).await?;
        let Some(enabled) = share_endpoint(&mut transaction, user, endpoint).await? else {
            return Ok(Err(TestRefusal::Missing));
        };
        if enabled {
            query!("deliveries/write_test.sql", user, endpoint, delivery, TEST_EVENT, now)
                .execute(&mut *transaction)
                .await?;
        }
        let view = query_as!("deliveries/get.sql", user, endpoint, delivery)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(view) = view else {
            transaction.rollback().await?;
            return Ok(Err(TestRefusal::Disabled));
        };
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(Ok(view))
    }

    /// Makes a finished delivery due again (same id, one more round of tries).
    pub async fn redeliver(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
    ) -> Result<Redelivery, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let again = make_due(&mut transaction, (user, endpoint, delivery), now).await?;
        if let Redelivery::Due(_) = again {
            transaction.commit().await?;
            self.db.waker().deliveries_written();
        } else {
            // Ended explicitly, and not by the driver: a claim skips locked rows, however short the lock.
            transaction.rollback().await?;
        }
        Ok(again)
    }
}

/// Gives an ended delivery (user, endpoint, id) one more round of tries.
pub async fn make_due(
    connection: &mut PgConnection,
    (user, endpoint, delivery): (&UserId, &str, &str),
    now: Timestamp,
) -> Result<Redelivery, sqlx::Error> {
    let Some(enabled) = share_endpoint(connection, user, endpoint).await? else {
        return Ok(Redelivery::Missing);
    };
    let finished: Option<bool> = query_scalar!("deliveries/lock.sql", user, endpoint, delivery)
        .fetch_optional(&mut *connection)
        .await?;
    match finished {
        None => return Ok(Redelivery::Missing),
        Some(false) => return Ok(Redelivery::UnderWay),
        Some(true) => {}
    }
    let view = query_as!("deliveries/redeliver.sql", user, endpoint, delivery, enabled, now)
        .fetch_one(connection)
        .await?;
    Ok(Redelivery::Due(Box::new(view)))
}

/// Whether the endpoint is enabled; it stays as it is until the transaction ends.
pub async fn share_endpoint(
    connection: &mut PgConnection,
    user: &UserId,
    endpoint: &str,
) -> Result<Option<bool>, sqlx::Error> {
    query_scalar!("deliveries/share_endpoint.sql", user, endpoint).fetch_optional(connection).await
}
