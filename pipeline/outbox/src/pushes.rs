//! Pushes of reminders and of apps' messages: pending { next_at } | sending { until, epoch } | delivered | exhausted |
//! cancelled. A webhook's row keeps a body that must arrive within days; a push is useless tomorrow, and its words are
//! read when it is sent.

use std::time::Duration;

use db::{Error, query, query_scalar};
use records::{ActionItemId, Timestamp, UserId};

use crate::{
    DeliveryOutcome, Outbox, SubscriptionKind,
    health::has_failed_for,
    tries::{Health, decide},
};

mod claim;

/// The numbers of a push's life.
#[derive(Clone, Debug)]
pub struct PushPolicy {
    /// Waits after the 1st, 2nd, … failed try; after the last the push is given up.
    pub schedule: Vec<Duration>,
    /// How long a try may be under way before another process may take it: longer than a try's own limit.
    pub sending: Duration,
    /// Tries under way at once per subscription, across processes: one that hangs slows no other.
    pub per_subscription: i64,
    /// A push that is given up removes the subscription when nothing else came of its pushes for this long: the failure of one
    /// try after days without a push says nothing of those days.
    pub remove_after: Duration,
}

impl Default for PushPolicy {
    fn default() -> Self {
        Self {
            schedule: [5, 30, 300, 1_800, 7_200].into_iter().map(Duration::from_secs).collect(),
            sending: Duration::from_secs(30),
            per_subscription: 4,
            remove_after: Duration::from_secs(5 * 86_400),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// An action item that is due.
    Reminder {
        action_item_id: ActionItemId,
        /// Its words, as they are now.
        description: String,
        due_at: Timestamp,
    },
    /// What an app wrote into a chat.
    Message {
        message_id: String,
        /// The app that wrote it.
        app_id: Option<String>,
        app_name: String,
        /// `app` or `main`.
        target: String,
        text: String,
    },
}

impl Pushed {
    pub fn words(&self) -> &str {
        match self {
            Self::Reminder { description, .. } => description,
            Self::Message { text, .. } => text,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ClaimedPush {
    pub user_id: UserId,
    pub subscription_id: String,
    /// The same on every try.
    pub delivery_id: String,
    /// The claim: every write of this try names it.
    pub epoch: i64,
    /// Which try this is, from 1.
    pub try_number: i32,
    pub kind: SubscriptionKind,
    pub url: String,
    pub pushed: Pushed,
    /// The database's clock at the claim.
    pub now: Timestamp,
}

impl Outbox {
    /// How long until a reminder fires or a push can be claimed (also a dead sender's `until`), measured now; `None`: nothing
    /// waits. What waits for a subscription that has enough under way counts when one of these tries ends: that wakes the
    /// sender of this process.
    pub async fn next_push_in(&self, policy: &PushPolicy) -> Result<Option<Duration>, Error> {
        let seconds: Option<f64> =
            query_scalar!("pushes/next_in.sql", policy.per_subscription).fetch_one(self.db.pool()).await?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    /// After the commit of what wrote `pushes`: wakes the sender of this process.
    pub fn wake_pushes(&self, pushes: u64) {
        if pushes > 0 {
            self.db.waker().pushes_written();
        }
    }

    /// Records how a try ended, under the claim's epoch, with the subscription's health: one that is gone, or failed for
    /// days, is removed. What was recorded before is so once. `false`: the claim is lost, or the push was cancelled meanwhile.
    pub async fn finish_push(
        &self,
        claimed: &ClaimedPush,
        outcome: DeliveryOutcome,
        policy: &PushPolicy,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let (user, subscription) = (claimed.user_id.as_str(), claimed.subscription_id.as_str());
        // Subscriptions come before their pushes in the order of locks. One that was removed took this push along, and
        // one that is gone, or failed for days, was to be removed.
        let found: Option<bool> = query_scalar!("subscriptions/lock.sql", user, subscription)
            .fetch_optional(&mut *transaction)
            .await?;
        if found.is_none() {
            return Ok(matches!(outcome.health(), Health::Gone | Health::Failing));
        }
        let ending = decide(outcome, claimed.try_number, &policy.schedule, now);
        let written = query!(
            "pushes/finish.sql",
            user,
            subscription,
            &claimed.delivery_id,
            claimed.epoch,
            ending.status,
            ending.next_at,
            ending.last_status.map(i32::from),
            ending.last_error,
            now
        )
        .execute(&mut *transaction)
        .await?;
        if written.rows_affected() == 0 {
            // Whether it was written before, under the same claim: a sender without an answer repeats it.
            return Ok(query_scalar!(
                "pushes/is_finished.sql",
                user,
                subscription,
                &claimed.delivery_id,
                claimed.epoch,
                ending.status,
                ending.last_error
            )
            .fetch_one(&mut *transaction)
            .await?);
        }
        let is_over = match outcome.health() {
            Health::Alive => {
                query!("subscriptions/note_success.sql", user, subscription, now)
                    .execute(&mut *transaction)
                    .await?;
                false
            }
            Health::Failing => {
                let since: Option<Timestamp> =
                    query_scalar!("subscriptions/note_failure.sql", user, subscription, now)
                        .fetch_optional(&mut *transaction)
                        .await?;
                let is_given_up = ending.next_at.is_none();
                // A push service that does not answer says nothing of a browser's subscription: the network may be ours.
                let is_said =
                    ending.last_status.is_some() || matches!(claimed.kind, SubscriptionKind::Webhook);
                is_given_up && is_said && has_failed_for(policy.remove_after, since, now)
            }
            Health::Gone => true,
            Health::Unknown => false,
        };
        if is_over {
            // A browser that let its subscription go makes a new one; a webhook that says 410 is taken at its word.
            query!("subscriptions/delete.sql", user, subscription).execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        // One more of this user's may be sent.
        self.db.waker().pushes_written();
        Ok(true)
    }
}
