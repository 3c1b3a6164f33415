//! What a user may use up: conversations a day, bytes of what was said, jobs that wait. The first two are counted in one
//! small row per user, which a transaction writes last: it is locked for no longer than a commit takes, and of two
//! transactions at the limit the second sees the first. Live jobs are counted by an index, up to the limit and no further.

use chrono::{Days, NaiveDate, NaiveTime};
use db::{Error, query, query_as, query_scalar};
use records::{Budget, OverBudget, Timestamp, UserId};
use sqlx::PgConnection;

use crate::Store;

/// The limits of users for whom an operator has set none of their own. Zero is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Conversations created per UTC day.
    pub conversations_per_day: i64,
    /// Bytes of what was said in conversations, stored at once.
    pub bytes: i64,
    /// Jobs that wait or run at once.
    pub waiting_jobs: i64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { conversations_per_day: 100_000, bytes: 10 << 30, waiting_jobs: 20_000 }
    }
}

/// A user's own limits; `None` is the service's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct OwnLimits {
    #[sqlx(rename = "limit_conversations_per_day")]
    pub conversations_per_day: Option<i64>,
    #[sqlx(rename = "limit_bytes")]
    pub bytes: Option<i64>,
    #[sqlx(rename = "limit_waiting_jobs")]
    pub waiting_jobs: Option<i64>,
}

/// What to change of a user's own limits; `None` leaves one, `Some(None)` gives it back to the service's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsChange {
    pub conversations_per_day: Option<Option<i64>>,
    pub bytes: Option<Option<i64>>,
    pub waiting_jobs: Option<Option<i64>>,
}

/// A user's limits and what is used of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserBudget {
    pub own: OwnLimits,
    /// The limits that count: the user's own, else this process's settings.
    pub limits: Budgets,
    /// Conversations created today, in UTC.
    pub conversations_today: i64,
    pub bytes: i64,
    /// Jobs that wait or run; counted up to the limit and one more.
    pub waiting_jobs: i64,
}

/// What a transaction adds to a user's account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charge {
    pub conversations: i64,
    pub bytes: i64,
    /// A job was admitted.
    pub job: bool,
}

impl OwnLimits {
    fn or(self, service: Budgets) -> Budgets {
        Budgets {
            conversations_per_day: self.conversations_per_day.unwrap_or(service.conversations_per_day),
            bytes: self.bytes.unwrap_or(service.bytes),
            waiting_jobs: self.waiting_jobs.unwrap_or(service.waiting_jobs),
        }
    }
}

impl Store {
    /// A user's limits and what is used of them. `None`: no such user.
    pub async fn user_budget(&self, user: &UserId) -> Result<Option<UserBudget>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let counted: Option<Counted> =
            query_as!("budgets/used.sql", user, now.date_naive()).fetch_optional(&mut *transaction).await?;
        let Some(Counted { conversations: conversations_today, bytes, own }) = counted else {
            return Ok(None);
        };
        let limits = own.or(self.budgets);
        let waiting_jobs = live_jobs(&mut transaction, user, limits.waiting_jobs).await?;
        Ok(Some(UserBudget { own, limits, conversations_today, bytes, waiting_jobs }))
    }

    /// Adds to a user's account what the transaction has written. It must be the last statement before the commit: the row
    /// is locked until then.
    ///
    /// # Errors
    /// [`Error::OverBudget`] when it exceeds a limit: the transaction must be rolled back.
    pub async fn charge(
        &self,
        connection: &mut PgConnection,
        user: &UserId,
        charge: Charge,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Counted { conversations, bytes, own } =
            query_as!("budgets/charge.sql", user, now.date_naive(), charge.conversations, charge.bytes)
                .fetch_one(&mut *connection)
                .await?;
        let limits = own.or(self.budgets);
        let over = |budget, limit, retry_after| Err(OverBudget { budget, limit, retry_after }.into());
        if charge.conversations > 0 && exceeds(conversations, limits.conversations_per_day) {
            let tomorrow = Some(until_tomorrow(now));
            return over(Budget::ConversationsPerDay, limits.conversations_per_day, tomorrow);
        }
        if charge.bytes > 0 && exceeds(bytes, limits.bytes) {
            return over(Budget::Bytes, limits.bytes, None);
        }
        if charge.job && limits.waiting_jobs > 0 {
            let waiting = live_jobs(connection, user, limits.waiting_jobs).await?;
            if exceeds(waiting, limits.waiting_jobs) {
                return over(Budget::WaitingJobs, limits.waiting_jobs, Some(JOB_SECONDS));
            }
        }
        Ok(())
    }
}

/// After how long a user with too many waiting jobs may try again.
pub const JOB_SECONDS: u64 = 30;

fn exceeds(used: i64, limit: i64) -> bool {
    limit > 0 && used > limit
}

/// Whole seconds until the UTC day ends, at least one.
fn until_tomorrow(now: Timestamp) -> u64 {
    let midnight =
        now.date_naive().checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX).and_time(NaiveTime::MIN);
    u64::try_from((midnight.and_utc() - now).num_seconds()).unwrap_or(0).saturating_add(1)
}

/// Takes the bytes of a deleted conversation off its user's account; the last statement of its transaction, too.
pub async fn refund(connection: &mut PgConnection, user: &UserId, bytes: i64) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    query!("budgets/refund.sql", user, bytes).execute(connection).await?;
    Ok(())
}

async fn live_jobs(connection: &mut PgConnection, user: &UserId, limit: i64) -> Result<i64, Error> {
    // Without a limit, what is shown is counted this far.
    let most = if limit > 0 { limit } else { 1_000_000 };
    Ok(query_scalar!("budgets/live_jobs.sql", user, most.saturating_add(1)).fetch_one(connection).await?)
}

/// What a user's account holds, and the user's own limits.
#[derive(sqlx::FromRow)]
struct Counted {
    conversations: i64,
    bytes: i64,
    #[sqlx(flatten)]
    own: OwnLimits,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

    use super::*;

    #[test]
    fn budget_day_ends_at_midnight_utc() {
        let at = |text: &str| until_tomorrow(text.parse().unwrap());
        assert_eq!(at("2026-11-24T23:59:59.5Z"), 1);
        assert_eq!(at("2026-11-24T00:00:00Z"), 86_401);
    }

    #[test]
    fn budget_of_zero_is_unlimited() {
        assert!(!exceeds(i64::MAX, 0));
        assert!(exceeds(2, 1) && !exceeds(1, 1));
    }
}
