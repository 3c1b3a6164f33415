//! How a try ended: the push's next state, and the subscription's health, in one transaction under the epoch.

use chrono::TimeDelta;
use db::Error;
use records::Timestamp;

use super::{ClaimedPush, PushPolicy};
use crate::{
    DeliveryOutcome, Outbox,
    tries::{Health, decide},
};

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
        let (mut transaction, now) = self.db.begin().await?;
        let (user, subscription) = (claimed.user_id.as_str(), claimed.subscription_id.as_str());
        // Subscriptions come before their pushes in the order of locks. One that was removed took this push along, and
        // one that is gone, or failed for days, was to be removed.
        let found: Option<bool> = sqlx::query_scalar(include_str!("../../sql/subscriptions/lock.sql"))
            .bind(user)
            .bind(subscription)
            .fetch_optional(&mut *transaction)
            .await?;
        if found.is_none() {
            return Ok(matches!(outcome.health(), Health::Gone | Health::Failing));
        }
        let ending = decide(outcome, claimed.try_number, &policy.schedule, now);
        let written = sqlx::query(include_str!("../../sql/pushes/finish.sql"))
            .bind(user)
            .bind(subscription)
            .bind(&claimed.delivery_id)
            .bind(claimed.epoch)
            .bind(ending.status)
            .bind(ending.next_at)
            .bind(ending.last_status.map(i32::from))
            .bind(ending.last_error)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        if written.rows_affected() == 0 {
            // Whether it was written before, under the same claim: a sender without an answer repeats it.
            return Ok(sqlx::query_scalar(include_str!("../../sql/pushes/is_finished.sql"))
                .bind(user)
                .bind(subscription)
                .bind(&claimed.delivery_id)
                .bind(claimed.epoch)
                .bind(ending.status)
                .bind(ending.last_error)
                .fetch_one(&mut *transaction)
                .await?);
        }
        let is_over = match outcome.health() {
            Health::Alive => {
                sqlx::query(include_str!("../../sql/subscriptions/note_success.sql"))
                    .bind(user)
                    .bind(subscription)
                    .bind(now)
                    .execute(&mut *transaction)
                    .await?;
                false
            }
            Health::Failing => {
                let since: Option<Timestamp> =
                    sqlx::query_scalar(include_str!("../../sql/subscriptions/note_failure.sql"))
                        .bind(user)
                        .bind(subscription)
                        .bind(now)
                        .fetch_optional(&mut *transaction)
                        .await?;
                let long = TimeDelta::from_std(policy.remove_after).unwrap_or(TimeDelta::MAX);
                since.is_some_and(|since| now.signed_duration_since(since) >= long)
            }
            Health::Gone => true,
            Health::Unknown => false,
        };
        if is_over {
            // A browser that let its subscription go makes a new one; a webhook that says 410 is taken at its word.
            sqlx::query(include_str!("../../sql/subscriptions/delete.sql"))
                .bind(user)
                .bind(subscription)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}
