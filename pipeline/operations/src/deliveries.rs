//! What operators do about an endpoint's deliveries: one more round of tries for one of them, and the end of a wait, of one or
//! of all that wait for an endpoint that is back.

use db::{Error, query, query_as, query_scalar};
use job::Timestamp;
use ledger::OperatorAction;
use outbox::{Redelivery, deliveries::make_due};
use records::UserId;
use sqlx::PgConnection;

use crate::Operations;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedNow {
    /// So many are due now, and the endpoint's breaker lets the next try through.
    Due(u64),
    /// Nothing waits for a moment.
    Nothing,
    UnderWay,
    /// It has ended: it can be redelivered.
    Ended,
    /// Its endpoint is disabled: it waits until that is enabled.
    Disabled,
}

impl TriedNow {
    /// How many one transaction makes due at most: a caller that meets as many goes on.
    pub const BATCH: u64 = 1_000;
}

/// An endpoint as an order finds it.
#[derive(sqlx::FromRow)]
pub(crate) struct Standing {
    pub(crate) is_enabled: bool,
    pub(crate) disabled_reason: Option<String>,
    is_open: bool,
}

impl Operations {
    /// Makes an ended delivery due again under its old id, with one more round of tries, and records who asked and
    /// why; at a disabled endpoint it waits until that is enabled.
    pub async fn redeliver_for_operator(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
        action: &OperatorAction,
    ) -> Result<Redelivery, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let again = make_due(&mut transaction, (user, endpoint, delivery), now).await?;
        let Redelivery::Due(_) = again else {
            // Ended explicitly, and not by the driver: a claim skips locked rows, however short the lock.
            transaction.rollback().await?;
            return Ok(again);
        };
        let subject = delivery_subject(endpoint, delivery);
        action.record(&mut transaction, "redeliver_webhook", Some(user), &subject, now).await?;
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(again)
    }

    /// Makes one waiting delivery due, and lets it through its endpoint's breaker. Tries are kept. `None`: no such delivery.
    pub async fn try_delivery_now(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
        action: &OperatorAction,
    ) -> Result<Option<TriedNow>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(standing) = lock(&mut transaction, user, endpoint, now).await? else {
            transaction.rollback().await?;
            return Ok(None);
        };
        let place: Option<String> =
            query_scalar!("deliveries/lock_waiting.sql", user, endpoint, delivery, now)
                .fetch_optional(&mut *transaction)
                .await?;
        let answer = place.map(|place| match place.as_str() {
            "under_way" => TriedNow::UnderWay,
            "ended" => TriedNow::Ended,
            _ if !standing.is_enabled => TriedNow::Disabled,
            "ready" if !standing.is_open => TriedNow::Nothing,
            _ => TriedNow::Due(1),
        });
        if !matches!(answer, Some(TriedNow::Due(_))) {
            // Ended explicitly, and not by the driver: a claim skips locked rows, however short the lock.
            transaction.rollback().await?;
            return Ok(answer);
        }
        query!("deliveries/try_one.sql", user, endpoint, delivery, now).execute(&mut *transaction).await?;
        close_breaker(&mut transaction, user, endpoint).await?;
        let subject = delivery_subject(endpoint, delivery);
        action.record(&mut transaction, "try_webhook_now", Some(user), &subject, now).await?;
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(answer)
    }

    /// Makes at most 1,000 deliveries due that wait for a moment at an endpoint, and lets the next try through its breaker: when
    /// that gets through, the others follow. Tries are kept. `None`: no such endpoint.
    pub async fn try_endpoint_now(
        &self,
        user: &UserId,
        endpoint: &str,
        action: &OperatorAction,
    ) -> Result<Option<TriedNow>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let standing = lock(&mut transaction, user, endpoint, now).await?;
        let Some(Standing { is_enabled: true, is_open, .. }) = standing else {
            transaction.rollback().await?;
            return Ok(standing.map(|_| TriedNow::Disabled));
        };
        let due = query!("deliveries/try_all.sql", user, endpoint, now, TriedNow::BATCH.cast_signed())
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        if due == 0 && !is_open {
            transaction.rollback().await?;
            return Ok(Some(TriedNow::Nothing));
        }
        close_breaker(&mut transaction, user, endpoint).await?;
        action.record(&mut transaction, "try_webhook_now", Some(user), endpoint, now).await?;
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(Some(TriedNow::Due(due)))
    }
}

/// The next try is let through.
async fn close_breaker(connection: &mut PgConnection, user: &UserId, endpoint: &str) -> Result<(), Error> {
    query!("deliveries/close_breaker.sql", user, endpoint).execute(connection).await?;
    Ok(())
}

/// How an action on one delivery names it: (endpoint)/(delivery).
pub fn delivery_subject(endpoint: &str, delivery: &str) -> String {
    format!("{endpoint}/{delivery}")
}

pub(crate) async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    endpoint: &str,
    now: Timestamp,
) -> Result<Option<Standing>, sqlx::Error> {
    query_as!("deliveries/lock_endpoint.sql", user, endpoint, now).fetch_optional(connection).await
}
