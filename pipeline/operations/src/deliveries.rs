//! An endpoint's deliveries as operators see them: a page of them, one of them, one more round of tries for it, and the end of
//! a wait, of one or of all that wait for an endpoint that is back.

use db::Error;
use job::Timestamp;
use ledger::OperatorAction;
use outbox::{Redelivery, deliveries::make_due};
use records::UserId;
use sqlx::{PgConnection, Postgres, QueryBuilder};

use crate::Operations;

/// Which of an endpoint's deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// `pending`, `sending`, `delivered`, `exhausted` or `cancelled`; `None`: all.
    pub status: Option<String>,
    /// Keyset: deliveries made before this one, (created_at, delivery id).
    pub before: Option<(Timestamp, String)>,
    pub limit: i64,
}

/// A delivery as operators see it: never its body.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct DeliveryLine {
    /// The `webhook-id`.
    pub delivery_id: String,
    pub event: String,
    pub conversation_id: Option<String>,
    pub revision: Option<i64>,
    /// `pending`, `sending`, `delivered`, `exhausted` or `cancelled`.
    pub status: String,
    /// Tries of this round.
    pub tries: i32,
    /// Claims of all rounds.
    pub epoch: i64,
    pub last_status: Option<i32>,
    pub last_error: Option<String>,
    /// The next try; `None` also while it waits for its endpoint to be enabled.
    pub next_at: Option<Timestamp>,
    /// It waits for its endpoint to be enabled.
    pub parked: bool,
    /// What it tells of happened then.
    pub occurred_at: Timestamp,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

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
struct Standing {
    is_enabled: bool,
    is_open: bool,
}

const COLUMNS: &str = "select delivery_id, event, conversation_id, revision, status, tries, epoch, last_status, \
    last_error, nullif(next_at, 'infinity') as next_at, \
    coalesce(status = 'pending' and next_at = 'infinity', false) as parked, occurred_at, created_at, finished_at \
    from webhook_deliveries where user_id = ";

fn of(user: &UserId, endpoint: &str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(COLUMNS);
    query.push_bind(user.as_str().to_owned()).push(" and endpoint_id = ").push_bind(endpoint.to_owned());
    query
}

impl Operations {
    /// A page of an endpoint's deliveries, newest first.
    pub async fn endpoint_deliveries(
        &self,
        user: &UserId,
        endpoint: &str,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliveryLine>, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let mut query = of(user, endpoint);
        if let Some(status) = &filter.status {
            query.push(" and status = ").push_bind(status.clone());
        }
        if let Some((at, id)) = &filter.before {
            query.push(" and (created_at, delivery_id) < (").push_bind(*at);
            query.push(", ").push_bind(id.clone()).push(")");
        }
        query.push(" order by created_at desc, delivery_id desc limit ").push_bind(filter.limit);
        Ok(query.build_query_as().fetch_all(&mut *transaction).await?)
    }

    /// One delivery; `None`: unknown name.
    pub async fn delivery_line(
        &self,
        user: &UserId,
        endpoint: &str,
        delivery: &str,
    ) -> Result<Option<DeliveryLine>, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let mut query = of(user, endpoint);
        query.push(" and delivery_id = ").push_bind(delivery.to_owned());
        Ok(query.build_query_as().fetch_optional(&mut *transaction).await?)
    }

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
        let place: Option<String> = sqlx::query_scalar(include_str!("../sql/deliveries/lock_waiting.sql"))
            .bind(user.as_str())
            .bind(endpoint)
            .bind(delivery)
            .bind(now)
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
        sqlx::query(include_str!("../sql/deliveries/try_one.sql"))
            .bind(user.as_str())
            .bind(endpoint)
            .bind(delivery)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
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
        let Some(Standing { is_enabled: true, is_open }) = standing else {
            transaction.rollback().await?;
            return Ok(standing.map(|_| TriedNow::Disabled));
        };
        let due = sqlx::query(include_str!("../sql/deliveries/try_all.sql"))
            .bind(user.as_str())
            .bind(endpoint)
            .bind(now)
            .bind(TriedNow::BATCH.cast_signed())
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

/// How an action on one delivery names it: (endpoint)/(delivery).
pub fn delivery_subject(endpoint: &str, delivery: &str) -> String {
    format!("{endpoint}/{delivery}")
}

async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    endpoint: &str,
    now: Timestamp,
) -> Result<Option<Standing>, sqlx::Error> {
    let found: Option<(bool, bool)> = sqlx::query_as(include_str!("../sql/deliveries/lock_endpoint.sql"))
        .bind(user.as_str())
        .bind(endpoint)
        .bind(now)
        .fetch_optional(connection)
        .await?;
    Ok(found.map(|(is_enabled, is_open)| Standing { is_enabled, is_open }))
}

async fn close_breaker(
    connection: &mut PgConnection,
    user: &UserId,
    endpoint: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/deliveries/close_breaker.sql"))
        .bind(user.as_str())
        .bind(endpoint)
        .execute(connection)
        .await
        .map(drop)
}
