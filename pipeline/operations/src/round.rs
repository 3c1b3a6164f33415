//! The reconciler's last round, and when its silence is one.

use chrono::Duration;
use db::{Error, query_as, query_scalar};
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

/// Rounds that may be missing before the reconciler counts as silent.
const MISSING: i32 = 3;
/// The shortest silence: a round of a schedule of seconds may take longer than its interval.
const SHORTEST: Duration = Duration::minutes(15);
/// The interval of a process that recorded none: the default schedule's.
const DEFAULT_SECONDS: i32 = 300;

/// The last round that any process finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRound {
    pub at: Timestamp,
    /// How long the schedule leaves between two rounds at most.
    pub every: Duration,
}

impl LastRound {
    /// How long after it the next one is overdue. `dashboards/rules/alerts.yml` has the same rule.
    pub fn patience(&self) -> Duration {
        (self.every * MISSING).max(SHORTEST)
    }

    /// Whether the next round is overdue.
    pub fn is_silent(&self, now: Timestamp) -> bool {
        now - self.at > self.patience()
    }
}

impl Operations {
    /// Records that the reconciler finished a round, and returns the database's clock. `every`: how long its schedule
    /// leaves between two rounds at most.
    pub async fn round_done(&self, every: Duration) -> Result<Timestamp, Error> {
        Ok(query_scalar!("rounds/done.sql", i32::try_from(every.num_seconds()).unwrap_or(i32::MAX))
            .fetch_one(self.db.pool())
            .await?)
    }
}

pub(super) async fn last_round(connection: &mut PgConnection) -> Result<Option<LastRound>, sqlx::Error> {
    let row: Option<(Timestamp, i32)> =
        query_as!("rounds/last.sql", DEFAULT_SECONDS).fetch_optional(connection).await?;
    Ok(row.map(|(at, seconds)| LastRound { at, every: Duration::seconds(seconds.into()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_with_a_rare_schedule_is_not_overdue_between_rounds() {
        let of = |every| LastRound { at: Timestamp::UNIX_EPOCH, every };
        let after = |minutes| Timestamp::UNIX_EPOCH + Duration::minutes(minutes);
        let (default, hourly) = (of(Duration::minutes(5)), of(Duration::hours(1)));
        assert!(!default.is_silent(after(15)) && default.is_silent(after(16)));
        assert!(!hourly.is_silent(after(180)) && hourly.is_silent(after(181)));
        assert_eq!(of(Duration::seconds(1)).patience(), SHORTEST);
    }
}
