//! How a try ended: the push's next state, and the subscription's health, in one transaction under the epoch.

use chrono::TimeDelta;
use db::{Doing, Error};
use records::Timestamp;
use sqlx::PgConnection;

use super::{ClaimedPush, PushPolicy};
use crate::{
    DeliveryOutcome, Outbox,
    tries::{Ending, Health, decide},
};

const DOING: &str = "finishing a push";

impl Outbox {
    /// Records how a try ended, under the claim's epoch, with the subscription's health: one that is gone, or failed for
    /// days, is removed. What was recorded before is so once. `false`: the claim is lost, or the push was cancelled meanwhile.
    pub async fn finish_push(
        &self,
        claimed: &ClaimedPush,
        outcome: DeliveryOutcome,
        policy: &PushPolicy,
    ) -> Result<bool, Error> {
        let recorded = self.record_end(claimed, outcome, policy).await?;
        if recorded {
            // One more of this user's may be sent.
            self.db.waker().pushes_written();
        }
        Ok(recorded)
    }

    async fn record_end(
        &self,
        claimed: &ClaimedPush,
        outcome: DeliveryOutcome,
        policy: &PushPolicy,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin(DOING).await?;
        // Subscriptions come before their pushes in the order of locks. One that was removed took this push along, and
        // one that is gone, or failed for days, was to be removed.
        let (user, subscription) = (claimed.user_id.as_str(), claimed.subscription_id.as_str());
        if !lock_subscription(&mut transaction, user, subscription).await? {
            return Ok(matches!(outcome.health(), Health::Gone | Health::Failing));
        }
        let ending = decide(outcome, claimed.try_number, &policy.schedule, now);
        if !write(&mut transaction, claimed, &ending, now).await? {
            return is_written(&mut transaction, claimed, &ending).await;
        }
        note_health(&mut transaction, user, subscription, outcome.health(), policy, now).await?;
        transaction.commit().await.doing(DOING)?;
        Ok(true)
    }
}

/// What a try says of its subscription: one that is gone, or that failed for days, is removed.
async fn note_health(
    connection: &mut PgConnection,
    user: &str,
    subscription: &str,
    health: Health,
    policy: &PushPolicy,
    now: Timestamp,
) -> Result<(), Error> {
    match health {
        Health::Alive => note_success(connection, user, subscription, now).await,
        Health::Gone => remove(connection, user, subscription).await,
        Health::Unknown => Ok(()),
        Health::Failing => match has_failed_for_long(connection, user, subscription, policy, now).await? {
            true => remove(connection, user, subscription).await,
            false => Ok(()),
        },
    }
}

/// `false`: it was removed.
async fn lock_subscription(
    connection: &mut PgConnection,
    user: &str,
    subscription: &str,
) -> Result<bool, Error> {
    let found: Option<bool> = sqlx::query_scalar(include_str!("../../sql/subscriptions/lock.sql"))
        .bind(user)
        .bind(subscription)
        .fetch_optional(connection)
        .await
        .doing(DOING)?;
    Ok(found.is_some())
}

async fn write(
    connection: &mut PgConnection,
    claimed: &ClaimedPush,
    ending: &Ending,
    now: Timestamp,
) -> Result<bool, Error> {
    let written = sqlx::query(include_str!("../../sql/pushes/finish.sql"))
        .bind(claimed.user_id.as_str())
        .bind(&claimed.subscription_id)
        .bind(&claimed.delivery_id)
        .bind(claimed.epoch)
        .bind(ending.status)
        .bind(ending.next_at)
        .bind(ending.last_status.map(i32::from))
        .bind(ending.last_error)
        .bind(now)
        .execute(connection)
        .await
        .doing(DOING)?;
    Ok(written.rows_affected() > 0)
}

/// Whether the end was written before, under the same claim: a sender without an answer repeats it.
async fn is_written(
    connection: &mut PgConnection,
    claimed: &ClaimedPush,
    ending: &Ending,
) -> Result<bool, Error> {
    sqlx::query_scalar(include_str!("../../sql/pushes/is_finished.sql"))
        .bind(claimed.user_id.as_str())
        .bind(&claimed.subscription_id)
        .bind(&claimed.delivery_id)
        .bind(claimed.epoch)
        .bind(ending.status)
        .bind(ending.last_error)
        .fetch_one(connection)
        .await
        .doing(DOING)
}

async fn note_success(
    connection: &mut PgConnection,
    user: &str,
    subscription: &str,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(include_str!("../../sql/subscriptions/note_success.sql"))
        .bind(user)
        .bind(subscription)
        .bind(now)
        .execute(connection)
        .await
        .doing(DOING)
        .map(drop)
}

async fn has_failed_for_long(
    connection: &mut PgConnection,
    user: &str,
    subscription: &str,
    policy: &PushPolicy,
    now: Timestamp,
) -> Result<bool, Error> {
    let since: Option<Timestamp> =
        sqlx::query_scalar(include_str!("../../sql/subscriptions/note_failure.sql"))
            .bind(user)
            .bind(subscription)
            .bind(now)
            .fetch_optional(connection)
            .await
            .doing(DOING)?;
    let long = TimeDelta::from_std(policy.remove_after).unwrap_or(TimeDelta::MAX);
    Ok(since.is_some_and(|since| now.signed_duration_since(since) >= long))
}

/// A browser that let its subscription go makes a new one; a webhook that says 410 is taken at its word.
async fn remove(connection: &mut PgConnection, user: &str, subscription: &str) -> Result<(), Error> {
    sqlx::query(include_str!("../../sql/subscriptions/delete.sql"))
        .bind(user)
        .bind(subscription)
        .execute(connection)
        .await
        .doing(DOING)
        .map(drop)
}
