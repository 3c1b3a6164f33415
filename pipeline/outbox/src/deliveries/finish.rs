//! How a try ended: the delivery's next state, and the endpoint's health, in one transaction under the epoch.

use std::time::Duration;

use chrono::TimeDelta;
use db::{Doing, Error};
use records::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::{
    ClaimedDelivery, DeliveryOutcome, DeliveryPolicy, DeliveryTry, TRIES_KEPT,
    waiting::{cancel, park},
};
use crate::Outbox;

const DOING: &str = "finishing a delivery";
/// A receiver's Retry-After counts up to this long (DECISIONS §6).
const LONGEST_WISH: Duration = Duration::from_secs(24 * 3_600);

/// What to write of a delivery.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: &'static str,
    pub(crate) next_at: Option<Timestamp>,
    pub(crate) last_status: Option<u16>,
    pub(crate) last_error: Option<&'static str>,
}

/// What a try says about its endpoint, or about its subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Alive,
    Failing,
    Gone,
    Unknown,
}

impl Outbox {
    pub(super) async fn finish(
        &self,
        claimed: &ClaimedDelivery,
        outcome: DeliveryOutcome,
        policy: &DeliveryPolicy,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin(DOING).await?;
        // The endpoint's row is locked first, as the claim does it.
        let Some(is_of_its_url) = lock_endpoint(&mut transaction, claimed).await? else { return Ok(false) };
        let outcome = if is_of_its_url { outcome } else { of_another_url(outcome) };
        let verdict = verdict(outcome, claimed.try_number, &policy.schedule, now);
        if !write(&mut transaction, claimed, &verdict, now).await? {
            return is_written(&mut transaction, claimed, &verdict).await;
        }
        match health(outcome) {
            Health::Alive => note_success(&mut transaction, claimed, now).await?,
            Health::Failing if is_of_its_url => note_failure(&mut transaction, claimed, policy, now).await?,
            Health::Gone => disable_gone(&mut transaction, claimed, now).await?,
            Health::Failing | Health::Unknown => {}
        }
        transaction.commit().await.doing(DOING)?;
        Ok(true)
    }
}

/// What a try's end means for its row, by the waits between tries.
pub(crate) fn verdict(
    outcome: DeliveryOutcome,
    tries: i32,
    schedule: &[Duration],
    now: Timestamp,
) -> Verdict {
    let end = |status, last_status, last_error| Verdict { status, next_at: None, last_status, last_error };
    match outcome {
        DeliveryOutcome::Delivered { status } => end("delivered", Some(status), None),
        DeliveryOutcome::Final { status, error } => end("exhausted", status, Some(error)),
        DeliveryOutcome::Gone => end("exhausted", Some(410), Some("status")),
        DeliveryOutcome::Cancelled => end("cancelled", None, None),
        DeliveryOutcome::Retry { status, error, retry_after, jitter_permille } => {
            match wait(tries, schedule, retry_after, jitter_permille) {
                Some(wait) => Verdict {
                    status: "pending",
                    next_at: Some(now + wait),
                    last_status: status,
                    last_error: Some(error),
                },
                None => end("exhausted", status, Some(error)),
            }
        }
    }
}

impl DeliveryOutcome {
    /// Whether no try follows the `tries`-th one that ended so, by the waits between tries: what was to be tried again is
    /// given up when these are used up.
    pub fn gives_up(self, tries: i32, schedule: &[Duration]) -> bool {
        match self {
            Self::Retry { retry_after, jitter_permille, .. } => {
                wait(tries, schedule, retry_after, jitter_permille).is_none()
            }
            Self::Final { .. } | Self::Gone => true,
            Self::Delivered { .. } | Self::Cancelled => false,
        }
    }
}

/// How long after the `tries`-th try the next one comes; `None` after the last.
fn wait(
    tries: i32,
    schedule: &[Duration],
    wish: Option<Duration>,
    jitter_permille: i32,
) -> Option<TimeDelta> {
    let scheduled = schedule.get(usize::try_from(tries - 1).ok()?)?;
    let scheduled = TimeDelta::from_std(*scheduled).ok()?;
    let jittered = scheduled + scheduled * jitter_permille.clamp(-100, 100) / 1_000;
    let wish = TimeDelta::from_std(wish.unwrap_or_default().min(LONGEST_WISH)).ok()?;
    Some(jittered.max(wish))
}

pub(crate) fn health(outcome: DeliveryOutcome) -> Health {
    match outcome {
        DeliveryOutcome::Delivered { .. } => Health::Alive,
        // A defect of ours, or of our settings: nothing was sent.
        DeliveryOutcome::Retry { error: "unreadable", .. }
        | DeliveryOutcome::Final { error: "unconfigured", .. } => Health::Unknown,
        DeliveryOutcome::Retry { .. } | DeliveryOutcome::Final { .. } => Health::Failing,
        DeliveryOutcome::Gone => Health::Gone,
        DeliveryOutcome::Cancelled => Health::Unknown,
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

/// Holds the endpoint; answers whether it still has the URL of the claim. `None`: it was removed.
async fn lock_endpoint(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
) -> Result<Option<bool>, Error> {
    sqlx::query_scalar(
        "select url = $3 from webhook_endpoints where user_id = $1 and endpoint_id = $2 for no key update",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(&claimed.url)
    .fetch_optional(connection)
    .await
    .doing(DOING)
}

/// Writes the verdict under the claim's epoch. The body goes with a delivered or cancelled one; what is to be
/// tried again at an endpoint that was disabled meanwhile waits for it.
async fn write(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<bool, Error> {
    let written = sqlx::query(
        "update webhook_deliveries d set status = $5, sending_until = null, \
             next_at = case when $6::timestamptz is null or e.enabled then $6 else 'infinity' end, \
             last_status = coalesce($7, case when $5 = 'cancelled' then last_status end), last_error = $8, \
             finished_at = case when $5 <> 'pending' then $9::timestamptz end, \
             body = case when $5 in ('delivered', 'cancelled') then null else body end, \
             history = case when $10::jsonb is null then history \
                 when jsonb_array_length(history) >= $11 then (history - 0) || $10 \
                 else coalesce(history, '[]') || $10 end \
         from webhook_endpoints e \
         where d.user_id = $1 and d.endpoint_id = $2 and d.delivery_id = $3 and d.epoch = $4 and d.status = 'sending' \
             and e.user_id = d.user_id and e.endpoint_id = d.endpoint_id",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(&claimed.delivery_id)
    .bind(claimed.epoch)
    .bind(verdict.status)
    .bind(verdict.next_at)
    .bind(verdict.last_status.map(i32::from))
    .bind(verdict.last_error)
    .bind(now)
    // What was cancelled was not tried.
    .bind((verdict.status != "cancelled").then(|| {
        Json(DeliveryTry {
            number: claimed.try_number,
            at: now,
            status: verdict.last_status.map(i32::from),
            error: verdict.last_error.map(str::to_owned),
        })
    }))
    .bind(TRIES_KEPT)
    .execute(connection)
    .await
    .doing(DOING)?;
    Ok(written.rows_affected() > 0)
}

/// Whether the verdict was written before, under the same claim: a sender without an answer repeats it. When the next try
/// comes is not compared, for what waits may have been moved since; the error is, for a sender that was given up leaves the
/// claim's epoch behind, too.
async fn is_written(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    verdict: &Verdict,
) -> Result<bool, Error> {
    sqlx::query_scalar(
        "select exists (select from webhook_deliveries \
             where user_id = $1 and endpoint_id = $2 and delivery_id = $3 and epoch = $4 and status = $5 \
                 and last_error is not distinct from $6)",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(&claimed.delivery_id)
    .bind(claimed.epoch)
    .bind(verdict.status)
    .bind(verdict.last_error)
    .fetch_one(connection)
    .await
    .doing(DOING)
}

/// A success closes the breaker and ends every count of failure.
async fn note_success(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "update webhook_endpoints set last_success_at = $3, failing_since = null, consecutive_failures = 0, \
             open_until = null \
         where user_id = $1 and endpoint_id = $2",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(now)
    .execute(connection)
    .await
    .doing(DOING)
    .map(drop)
}

/// A failure may open the breaker, and after `disable_after` of nothing else it disables the endpoint.
async fn note_failure(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    policy: &DeliveryPolicy,
    now: Timestamp,
) -> Result<(), Error> {
    let span = |duration| TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(36_500));
    let disabled: Option<bool> = sqlx::query_scalar(
        "update webhook_endpoints set failing_since = coalesce(failing_since, $3), \
             consecutive_failures = consecutive_failures + 1, \
             open_until = case when consecutive_failures + 1 >= $4 then $5 else open_until end, \
             enabled = enabled and coalesce(failing_since > $6, true), \
             disabled_reason = case when not enabled then disabled_reason \
                 when failing_since <= $6 then 'failing' end, \
             updated_at = case when enabled and failing_since <= $6 then $3 else updated_at end \
         where user_id = $1 and endpoint_id = $2 returning not enabled",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(now)
    .bind(policy.breaker_after)
    .bind(now + span(policy.breaker_open))
    .bind(now - span(policy.disable_after))
    .fetch_optional(&mut *connection)
    .await
    .doing(DOING)?;
    if disabled == Some(true) {
        park(connection, claimed.user_id.as_str(), &claimed.endpoint_id).await.doing(DOING)?;
    }
    Ok(())
}

/// 410: the endpoint wants nothing more, and what waits for it is cancelled; where much does, the rest by the claims that
/// find it due.
async fn disable_gone(
    connection: &mut PgConnection,
    claimed: &ClaimedDelivery,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "update webhook_endpoints set enabled = false, disabled_reason = 'gone', updated_at = $3, \
             failing_since = coalesce(failing_since, $3), consecutive_failures = consecutive_failures + 1 \
         where user_id = $1 and endpoint_id = $2",
    )
    .bind(claimed.user_id.as_str())
    .bind(&claimed.endpoint_id)
    .bind(now)
    .execute(&mut *connection)
    .await
    .doing(DOING)?;
    cancel(connection, claimed.user_id.as_str(), &claimed.endpoint_id, None, now).await.doing(DOING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_ends_and_a_wish_counts_when_it_is_longer_up_to_a_day() {
        let policy = DeliveryPolicy::default();
        let seconds = |tries, wish: Option<u64>, jitter| {
            wait(tries, &policy.schedule, wish.map(Duration::from_secs), jitter)
                .map(|wait| wait.num_seconds())
        };
        assert_eq!(seconds(1, None, 0), Some(5));
        assert_eq!(seconds(2, None, 100), Some(33));
        assert_eq!(seconds(2, None, -5_000), Some(27), "jitter is cut to a tenth");
        assert_eq!(seconds(1, Some(60), 0), Some(60));
        assert_eq!(seconds(3, Some(60), 0), Some(300));
        assert_eq!(seconds(1, Some(10_000_000), 0), Some(86_400));
        assert_eq!(seconds(10, None, 0), Some(86_400));
        assert_eq!(seconds(11, None, 0), None, "ten waits, eleven tries");
    }
}
