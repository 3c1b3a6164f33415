//! How a try ended: the delivery's next state, and the endpoint's health, in one transaction under the epoch.

use db::{Error, query, query_as, query_scalar};
use records::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::{
    ClaimedDelivery, DeliveryPolicy, DeliveryTry, TRIES_KEPT,
    waiting::{cancel, park},
};
use crate::{
    DeliveryOutcome, Outbox,
    health::{Patience, ReceiverHealth, span},
    tries::{Ending, Health, decide},
};

/// The locked endpoint of a delivery.
#[derive(sqlx::FromRow)]
struct EndpointRow {
    /// It still has the URL of the claim.
    is_of_its_url: bool,
    #[sqlx(flatten)]
    health: EndpointHealth,
}

/// What an endpoint's row says of its health: that of a receiver, with its breaker.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
struct EndpointHealth {
    #[sqlx(flatten)]
    receiver: ReceiverHealth,
    /// Until when the breaker is open.
    open_until: Option<Timestamp>,
    updated_at: Timestamp,
}

impl Outbox {
    /// Records how a try ended, under the claim's epoch, with the endpoint's health; what was recorded before is so once.
    /// `false`: the claim is lost.
    pub async fn finish_delivery(
        &self,
        claimed: &ClaimedDelivery,
        outcome: DeliveryOutcome,
        policy: &DeliveryPolicy,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let (user, endpoint_id) = (claimed.user_id.as_str(), claimed.endpoint_id.as_str());
        // The endpoint's row is locked first, as the claim does it. None: it was removed.
        let endpoint: Option<EndpointRow> =
            query_as!("deliveries/lock_endpoint.sql", user, endpoint_id, &claimed.url)
                .fetch_optional(&mut *transaction)
                .await?;
        let Some(endpoint) = endpoint else { return Ok(false) };
        let outcome = if endpoint.is_of_its_url { outcome } else { of_another_url(outcome) };
        let ending = decide(outcome, claimed.try_number, &policy.schedule, now);
        if !write(&mut transaction, claimed, &ending, now).await? {
            // Whether it was written before, under the same claim: a sender without an answer repeats it.
            let is_finished = query_scalar!(
                "deliveries/is_finished.sql",
                user,
                endpoint_id,
                &claimed.delivery_id,
                claimed.epoch,
                ending.status,
                ending.last_error
            )
            .fetch_one(&mut *transaction)
            .await?;
            // Ended explicitly, and not by the driver: a claim skips locked endpoints, however short the lock.
            transaction.rollback().await?;
            return Ok(is_finished);
        }
        // A failure at a URL that was replaced says nothing about the new one.
        let try_says = match outcome.health() {
            Health::Failing if !endpoint.is_of_its_url => Health::Unknown,
            health => health,
        };
        if let Some(health) = endpoint.health.after(try_says, policy, now) {
            query!(
                "deliveries/store_health.sql",
                user,
                endpoint_id,
                health.receiver.enabled,
                &health.receiver.disabled_reason,
                health.receiver.failing_since,
                health.receiver.consecutive_failures,
                health.open_until,
                health.receiver.last_success_at,
                health.updated_at
            )
            .execute(&mut *transaction)
            .await?;
            // What waits for it is moved with it; where much does, the rest by the claims that find it due.
            match try_says {
                Health::Gone => cancel(&mut transaction, user, endpoint_id, None, now).await?,
                Health::Failing if !health.receiver.enabled => {
                    park(&mut transaction, user, endpoint_id).await?;
                }
                _ => {}
            }
        }
        transaction.commit().await?;
        Ok(true)
    }
}

/// What was refused at a URL that was replaced meanwhile is tried at the one in its place, as after a failure that passes; what
/// the old one wished for is not waited for.
fn of_another_url(outcome: DeliveryOutcome) -> DeliveryOutcome {
    let again = |status, error, jitter_permille| DeliveryOutcome::Retry {
        status,
        error,
        retry_after: None,
        jitter_permille,
    };
    match outcome {
        DeliveryOutcome::Retry { status, error, jitter_permille, .. } => {
            again(status, error, jitter_permille)
        }
        DeliveryOutcome::Final { status, error } => again(status, error, 0),
        DeliveryOutcome::Gone => again(Some(410), "status", 0),
        DeliveryOutcome::Delivered { .. } | DeliveryOutcome::Cancelled => outcome,
    }
}

async fn write(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    ending: &Ending,
    now: Timestamp,
) -> Result<bool, Error> {
    let entry = DeliveryTry {
        number: claimed.try_number,
        at: now,
        status: ending.last_status.map(i32::from),
        error: ending.last_error.map(str::to_owned),
        millis: Some((now - claimed.now).num_milliseconds()),
    };
    let written = query!(
        "deliveries/finish.sql",
        &claimed.user_id,
        &claimed.endpoint_id,
        &claimed.delivery_id,
        claimed.epoch,
        ending.status,
        ending.next_at,
        ending.last_status.map(i32::from),
        ending.last_error,
        now,
        // What was cancelled was not tried.
        (ending.status != "cancelled").then_some(Json(entry)),
        TRIES_KEPT
    )
    .execute(connection)
    .await?;
    Ok(written.rows_affected() > 0)
}

impl EndpointHealth {
    /// The health after a try. A success closes the breaker, and a failure may open it. `None`: it stays as it is.
    fn after(&self, try_says: Health, policy: &DeliveryPolicy, now: Timestamp) -> Option<Self> {
        let patience = Patience::For { long: policy.disable_after, times: policy.breaker_after };
        let receiver = self.receiver.after(try_says, patience, now)?;
        let open_until = match try_says {
            Health::Alive => None,
            Health::Failing if receiver.consecutive_failures >= policy.breaker_after => {
                Some(now + span(policy.breaker_open))
            }
            _ => self.open_until,
        };
        let is_disabled_now = receiver.disabled_reason != self.receiver.disabled_reason;
        let updated_at = if is_disabled_now { now } else { self.updated_at };
        Some(Self { receiver, open_until, updated_at })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use chrono::TimeDelta;

    use super::*;

    const BEGUN: Timestamp = Timestamp::UNIX_EPOCH;

    fn at(seconds: i64) -> Timestamp {
        BEGUN + TimeDelta::seconds(seconds)
    }

    fn healthy() -> EndpointHealth {
        let receiver = ReceiverHealth {
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            consecutive_failures: 0,
            last_success_at: None,
        };
        EndpointHealth { receiver, open_until: None, updated_at: BEGUN }
    }

    #[test]
    fn breaker_opens_after_consecutive_failures_and_success_closes_it() {
        let policy = DeliveryPolicy { breaker_after: 2, ..DeliveryPolicy::default() };
        let once = healthy().after(Health::Failing, &policy, at(1)).unwrap();
        assert_eq!((once.receiver.consecutive_failures, once.open_until), (1, None));
        let twice = once.after(Health::Failing, &policy, at(2)).unwrap();
        assert_eq!(twice.open_until, Some(at(62)));
        assert!(twice.receiver.enabled);
        assert_eq!(twice.after(Health::Alive, &policy, at(70)).unwrap().open_until, None);
    }

    #[test]
    fn endpoint_keeps_its_first_disabled_at() {
        let failing =
            ReceiverHealth { failing_since: Some(at(0)), consecutive_failures: 4, ..healthy().receiver };
        let failing = EndpointHealth { receiver: failing, ..healthy() };
        let (policy, days) = (DeliveryPolicy::default(), 5 * 86_400);
        assert_eq!(failing.after(Health::Failing, &policy, at(days - 1)).unwrap().updated_at, BEGUN);
        let disabled = failing.after(Health::Failing, &policy, at(days)).unwrap();
        assert_eq!((disabled.receiver.enabled, disabled.updated_at), (false, at(days)));
        let later = disabled.after(Health::Failing, &policy, at(days + 9)).unwrap();
        assert_eq!(later.updated_at, at(days));
    }
}
