//! An endpoint's deliveries as operators see them: a page of them, one of them, and one more round of tries for it.

use db::Error;
use job::Timestamp;
use ledger::OperatorAction;
use outbox::{Redelivery, deliveries::make_due};
use records::UserId;
use sqlx::{Postgres, QueryBuilder};

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

const COLUMNS: &str = "select delivery_id, event, conversation_id, revision, status, tries, epoch, last_status, \
    last_error, nullif(next_at, 'infinity') as next_at, \
    coalesce(status = 'pending' and next_at = 'infinity', false) as parked, occurred_at, created_at, finished_at \
    from webhook_deliveries where user_id = ";

/// Whose delivery, and to which endpoint.
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
}

/// How an action on one delivery names it: (endpoint)/(delivery).
pub fn delivery_subject(endpoint: &str, delivery: &str) -> String {
    format!("{endpoint}/{delivery}")
}
