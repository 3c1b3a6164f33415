//! What waits, and for what: the gauges that operators ask for besides counts and ages (issue 6).
//!
//! Nothing here grows with history: what is live is read from partial indexes, deliveries are counted to a
//! bound, and of the dead letters only the newest are looked at.

use db::Error;
use job::FailureCode;

use crate::{
    Operations,
    gauges::{add_counts, counts_of},
};

/// What an untold event can be waiting for, in the order of the statement.
const DELIVERY_STATES: [&str; 4] = ["due", "later", "paused", "sending"];

/// The queues, in the order of the statement.
const QUEUES: [&str; 2] = ["finalization", "creation"];

#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Backlog {
    /// What each queue has to do now, always both: jobs that could run and jobs that run, each counted to 1,000. A queue that is
    /// paused has nothing to do.
    #[sqlx(skip)]
    pub queues: Vec<(&'static str, i64)>,
    /// Deliveries that have not come to rest, always all four states, each counted to 10,000: `due` could be
    /// sent, `later` waits for its next try, `paused` for its endpoint to be enabled, `sending` is on its way.
    #[sqlx(skip)]
    pub deliveries: Vec<(&'static str, i64)>,
    /// Of the newest 1,000 dead letters, those that no operator has settled, by failure code: always every code.
    #[sqlx(skip)]
    pub dead_letters: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest parked job; 0 when none is parked.
    #[sqlx(rename = "parked_age")]
    pub oldest_parked_age: f64,
    #[sqlx(rename = "holders")]
    pub lease_holders: i64,
    /// Leases that have run out and were not taken back yet.
    #[sqlx(rename = "overdue")]
    pub leases_overdue: i64,
    /// Seconds since the oldest lease was claimed; 0 when none is held.
    #[sqlx(rename = "oldest_age")]
    pub oldest_lease_age: f64,
}

impl Backlog {
    /// The same of two shards: sums, and the older of two ages.
    pub fn add(&mut self, other: &Self) {
        add_counts(&mut self.queues, &other.queues);
        add_counts(&mut self.deliveries, &other.deliveries);
        add_counts(&mut self.dead_letters, &other.dead_letters);
        self.oldest_parked_age = self.oldest_parked_age.max(other.oldest_parked_age);
        self.lease_holders += other.lease_holders;
        self.leases_overdue += other.leases_overdue;
        self.oldest_lease_age = self.oldest_lease_age.max(other.oldest_lease_age);
    }
}

impl Operations {
    /// One bounded read.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let due =
            sqlx::query_as(include_str!("../sql/jobs/backlog.sql")).fetch_all(&mut *transaction).await?;
        // There are never more leases than slots of the live workers and of those that died within a lease.
        let leases: Backlog = sqlx::query_as(include_str!("../sql/jobs/leases.sql"))
            .bind(now)
            .fetch_one(&mut *transaction)
            .await?;
        // Which cause is killing jobs now shows in the newest; how many there are in all is a gauge of its own.
        let dead =
            sqlx::query_as(include_str!("../sql/jobs/newest_dead.sql")).fetch_all(&mut *transaction).await?;
        let waiting: (i64, i64, i64, i64) = sqlx::query_as(include_str!("../sql/deliveries/backlog.sql"))
            .bind(now)
            .fetch_one(&mut *transaction)
            .await?;
        Ok(Backlog {
            queues: counts_of(QUEUES, &due),
            deliveries: DELIVERY_STATES.into_iter().zip(<[i64; 4]>::from(waiting)).collect(),
            dead_letters: counts_of(FailureCode::ALL.iter().map(|code| code.as_str()), &dead),
            ..leases
        })
    }
}
