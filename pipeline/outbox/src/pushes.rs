//! Pushes: pending { next_at } | sending { until, epoch } | delivered | exhausted | cancelled. Webhooks' rows are
//! bodies that must arrive within days; these are reminders that are useless tomorrow, and their words are read when
//! they are sent.

use std::time::Duration;

use db::{Doing, Error};
use records::{ActionItemId, Timestamp, UserId};

use crate::{Claims, DeliveryOutcome, Outbox, SubscriptionKind};

mod claim;
mod finish;

pub(crate) use claim::subscription_kind;
pub(crate) use finish::{lock_subscription, note_health};

/// The numbers of a push's life.
#[derive(Clone, Debug)]
pub struct PushPolicy {
    /// Waits after the 1st, 2nd, … failed try; after the last the push is given up.
    pub schedule: Vec<Duration>,
    /// How long a try may be under way before another process may take it: longer than a try's own limit.
    pub sending: Duration,
    /// Tries under way at once per user: one user's dead receivers slow no other user.
    pub per_person: usize,
    /// Nothing but failures for this long removes the subscription.
    pub remove_after: Duration,
}

impl Default for PushPolicy {
    fn default() -> Self {
        Self {
            schedule: [5, 30, 300, 1_800, 7_200].into_iter().map(Duration::from_secs).collect(),
            sending: Duration::from_secs(30),
            per_person: 4,
            remove_after: Duration::from_secs(5 * 86_400),
        }
    }
}

/// A push that this process is to try now.
#[derive(Clone, Debug)]
pub struct ClaimedPush {
    /// Whose.
    pub user_id: UserId,
    /// To which subscription.
    pub subscription_id: String,
    /// The same on every try.
    pub delivery_id: String,
    /// The claim: every write of this try names it.
    pub epoch: i64,
    /// Which try this is, from 1.
    pub try_number: i32,
    /// How the subscription is reached.
    pub kind: SubscriptionKind,
    /// Where.
    pub url: String,
    /// The action item.
    pub action_item_id: ActionItemId,
    /// Its words, as they are now.
    pub description: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// The database's clock at the claim.
    pub now: Timestamp,
}

impl Outbox {
    /// Claims at most `limit` due pushes, some of each person's. Of an item that is done, or has another date by now,
    /// nothing is claimed: its push is cancelled. A sender that died is due again at its `until`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn claim_pushes(&self, limit: i64, policy: &PushPolicy) -> Result<Claims<ClaimedPush>, Error> {
        self.claim_due_pushes(limit, policy).await
    }

    /// Records how a try ended, under the claim's epoch, with the subscription's health: one that is gone, or failed for
    /// days, is removed. What was recorded before is so once. `false`: the claim is lost, or the push was cancelled meanwhile.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finish_push(
        &self,
        claimed: &ClaimedPush,
        outcome: DeliveryOutcome,
        policy: &PushPolicy,
    ) -> Result<bool, Error> {
        let recorded = self.finish_claimed_push(claimed, outcome, policy).await?;
        if recorded {
            // One more of this person's may be sent.
            self.db.waker().pushes_written();
        }
        Ok(recorded)
    }

    /// How long until a reminder fires or a push can be claimed (also a dead sender's `until`), measured now; `None`: nothing
    /// waits. What waits for a user who has enough under way counts when one of these tries ends: that wakes the sender
    /// of this process.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn next_push_in(&self, policy: &PushPolicy) -> Result<Option<Duration>, Error> {
        let seconds: Option<f64> = sqlx::query_scalar(
            "with full_people as materialized (select user_id from push_deliveries \
                 where status = 'sending' and sending_until > statement_timestamp() \
                 group by user_id having count(*) >= $1) \
             select extract(epoch from least( \
                 (select min(fire_at) from reminders where fire_at is not null), \
                 (select min(next_at) from push_deliveries \
                     where status = 'pending' and user_id not in (select user_id from full_people)), \
                 (select min(sending_until) from push_deliveries where status = 'sending' \
                     and (sending_until > statement_timestamp() or user_id not in (select user_id from full_people)))) \
             - clock_timestamp())::float8",
        )
        .bind(i64::try_from(policy.per_person).unwrap_or(i64::MAX))
        .fetch_one(self.db.pool())
        .await
        .doing("looking for the next push")?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    /// After the commit of what wrote `pushes`: wakes the sender of this process.
    pub fn wake_pushes(&self, pushes: u64) {
        if pushes > 0 {
            self.db.waker().pushes_written();
        }
    }
}
