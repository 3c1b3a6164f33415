//! How a try ended: the delivery's next state, and the endpoint's health, in one transaction under the epoch.

use db::Error;
use records::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::{
    ClaimedDelivery, DeliveryPolicy, DeliveryTry, TRIES_KEPT,
    health::EndpointHealth,
    waiting::{cancel, park},
};
use crate::{
    DeliveryOutcome, Outbox,
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
            sqlx::query_as(include_str!("../../sql/deliveries/lock_endpoint.sql"))
                .bind(user)
                .bind(endpoint_id)
                .bind(&claimed.url)
                .fetch_optional(&mut *transaction)
                .await?;
        let Some(endpoint) = endpoint else { return Ok(false) };
        let outcome = if endpoint.is_of_its_url { outcome } else { of_another_url(outcome) };
        let ending = decide(outcome, claimed.try_number, &policy.schedule, now);
        if !write(&mut transaction, claimed, &ending, now).await? {
            // Whether it was written before, under the same claim: a sender without an answer repeats it.
            return Ok(sqlx::query_scalar(include_str!("../../sql/deliveries/is_finished.sql"))
                .bind(user)
                .bind(endpoint_id)
                .bind(&claimed.delivery_id)
                .bind(claimed.epoch)
                .bind(ending.status)
                .bind(ending.last_error)
                .fetch_one(&mut *transaction)
                .await?);
        }
        // A failure at a URL that was replaced says nothing about the new one.
        let try_says = match outcome.health() {
            Health::Failing if !endpoint.is_of_its_url => Health::Unknown,
            health => health,
        };
        if let Some(health) = endpoint.health.after(try_says, policy, now) {
            store_health(&mut transaction, claimed, &health).await?;
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
    let written = sqlx::query(include_str!("../../sql/deliveries/finish.sql"))
        .bind(claimed.user_id.as_str())
        .bind(&claimed.endpoint_id)
        .bind(&claimed.delivery_id)
        .bind(claimed.epoch)
        .bind(ending.status)
        .bind(ending.next_at)
        .bind(ending.last_status.map(i32::from))
        .bind(ending.last_error)
        .bind(now)
        // What was cancelled was not tried.
        .bind((ending.status != "cancelled").then_some(Json(entry)))
        .bind(TRIES_KEPT)
        .execute(connection)
        .await?;
    Ok(written.rows_affected() > 0)
}

async fn store_health(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    health: &EndpointHealth,
) -> Result<(), Error> {
    sqlx::query(include_str!("../../sql/deliveries/store_health.sql"))
        .bind(claimed.user_id.as_str())
        .bind(&claimed.endpoint_id)
        .bind(health.receiver.enabled)
        .bind(&health.receiver.disabled_reason)
        .bind(health.receiver.failing_since)
        .bind(health.receiver.consecutive_failures)
        .bind(health.open_until)
        .bind(health.receiver.last_success_at)
        .bind(health.updated_at)
        .execute(connection)
        .await?;
    Ok(())
}
