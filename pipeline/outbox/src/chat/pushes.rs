//! Pushes of apps' messages: pending { next_at } | sending { until, epoch } | delivered | exhausted, with the numbers of reminders'
//! pushes.

use std::time::Duration;

use chrono::TimeDelta;
use db::{Doing, Error, cursor::cutoff, secrets::Context};
use records::{Timestamp, UserId};

use crate::{
    Claims, DeliveryOutcome, Outbox, PushPolicy, SubscriptionKind,
    deliveries::finish::{health, verdict},
    pushes::{lock_subscription, note_health, subscription_kind},
};

/// What a claim looks at for each push that it may take, so that one user's backlog seldom fills a page.
const PAGE_FACTOR: i64 = 8;

/// A push that this process is to try now.
#[derive(Clone, Debug)]
pub struct ClaimedChatPush {
    /// Whose.
    pub user_id: UserId,
    /// To which subscription.
    pub subscription_id: String,
    /// The message.
    pub message_id: String,
    /// The claim: every write of this try names it.
    pub epoch: i64,
    /// Which try this is, from 1.
    pub try_number: i32,
    /// How the subscription is reached.
    pub kind: SubscriptionKind,
    /// Where.
    pub url: String,
    /// The app that wrote it.
    pub app_id: Option<String>,
    /// What that app was called.
    pub app_name: String,
    /// `app` or `main`.
    pub target: String,
    /// The message's words.
    pub text: String,
    /// The database's clock at the claim.
    pub now: Timestamp,
}

#[derive(sqlx::FromRow)]
struct TakenRow {
    user_id: String,
    subscription_id: String,
    message_id: String,
    epoch: i64,
    tries: i32,
    kind: String,
    url: String,
    p256dh: Option<String>,
    auth: Option<String>,
    app_id: Option<String>,
    app_name: String,
    target: String,
    text: String,
}

impl Outbox {
    /// Claims at most `limit` due pushes of apps' messages, some of each user's. A sender that died is due again at its `until`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn claim_chat_pushes(
        &self,
        limit: i64,
        policy: &PushPolicy,
    ) -> Result<Claims<ClaimedChatPush>, Error> {
        const DOING: &str = "claiming pushes of messages";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let dead = sqlx::query(include_str!("../../sql/chat/give_up_dead.sql"))
            .bind(now)
            .bind(i32::try_from(policy.schedule.len()).unwrap_or(i32::MAX))
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
        let rows: Vec<TakenRow> = sqlx::query_as(include_str!("../../sql/chat/claim_pushes.sql"))
            .bind(now)
            .bind(now + TimeDelta::from_std(policy.sending).unwrap_or(TimeDelta::zero()))
            .bind(i64::try_from(policy.per_person).unwrap_or(i64::MAX))
            .bind(limit)
            .bind(limit.saturating_mul(PAGE_FACTOR))
            .fetch_all(&mut *transaction)
            .await
            .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        let claimed = rows.into_iter().filter_map(|row| self.claimed_chat_push(row, now)).collect();
        Ok(Claims { claimed, given_up: dead.rows_affected() })
    }

    fn claimed_chat_push(&self, row: TakenRow, now: Timestamp) -> Option<ClaimedChatPush> {
        let context = Context::subscription(&row.user_id, &row.subscription_id);
        let kind = subscription_kind(self.db.secrets(), context, &row.kind, row.p256dh, row.auth)?;
        Some(ClaimedChatPush {
            user_id: UserId::new(row.user_id),
            subscription_id: row.subscription_id,
            message_id: row.message_id,
            epoch: row.epoch,
            try_number: row.tries,
            kind,
            url: row.url,
            app_id: row.app_id,
            app_name: row.app_name,
            target: row.target,
            text: row.text,
            now,
        })
    }

    /// Records how a try ended, under the claim's epoch, with the subscription's health. `false`: the claim is lost.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finish_chat_push(
        &self,
        claimed: &ClaimedChatPush,
        outcome: DeliveryOutcome,
        policy: &PushPolicy,
    ) -> Result<bool, Error> {
        const DOING: &str = "finishing a push of a message";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let (user, subscription) = (claimed.user_id.as_str(), claimed.subscription_id.as_str());
        // Subscriptions come before their pushes in the order of locks.
        if !lock_subscription(&mut transaction, user, subscription).await? {
            return Ok(false);
        }
        let verdict = verdict(outcome, claimed.try_number, &policy.schedule, now);
        // A push is never cancelled: a message that is deleted takes its pushes along.
        let status = if verdict.status == "cancelled" { "exhausted" } else { verdict.status };
        let written = sqlx::query(include_str!("../../sql/chat/finish_push.sql"))
            .bind(user)
            .bind(subscription)
            .bind(&claimed.message_id)
            .bind(claimed.epoch)
            .bind(status)
            .bind(verdict.next_at)
            .bind(verdict.last_status.map(i32::from))
            .bind(verdict.last_error)
            .bind(now)
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
        if written.rows_affected() == 0 {
            return Ok(false);
        }
        note_health(&mut transaction, user, subscription, health(outcome), policy, now).await?;
        transaction.commit().await.doing(DOING)?;
        // One more of this user's may be sent.
        self.db.waker().chat_pushes_written();
        Ok(true)
    }

    /// How long until a push of a message can be claimed; `None`: none waits. What waits for a user who has enough under way
    /// counts when one of these tries ends: that wakes the sender of this process.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn next_chat_push_in(&self, policy: &PushPolicy) -> Result<Option<Duration>, Error> {
        let seconds: Option<f64> = sqlx::query_scalar(include_str!("../../sql/chat/next_push_in.sql"))
            .bind(i64::try_from(policy.per_person).unwrap_or(i64::MAX))
            .fetch_one(self.db.pool())
            .await
            .doing("looking for the next push of a message")?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    /// Removes a batch of pushes that were over longer ago than `age`.
    pub async fn prune_chat_pushes(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        const DOING: &str = "pruning pushes of messages";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let gone = sqlx::query(include_str!("../../sql/chat/prune_pushes.sql"))
            .bind(cutoff(now, age))
            .bind(batch)
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(gone.rows_affected())
    }
}
