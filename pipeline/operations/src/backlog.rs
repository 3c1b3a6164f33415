//! What waits, and for what: the gauges that operators ask for besides counts and ages (issue 6).
//!
//! Nothing here grows with history: what is live is read from partial indexes, deliveries are counted to a
//! bound, and of the dead letters only the newest are looked at.

use db::{Doing, Error};
use job::{FailureCode, Timestamp};
use sqlx::PgConnection;

use crate::{Operations, gauges::add_counts};

const DOING: &str = "reading the backlog";

/// What an untold event can be waiting for.
const DELIVERY_STATES: [&str; 4] = ["due", "later", "paused", "sending"];

/// The queues, in the order of the statement.
const QUEUES: [&str; 2] = ["finalization", "creation"];

/// What waits now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backlog {
    /// What each queue has to do now, always both: jobs that could run and jobs that run, each counted to 1,000. A queue that is
    /// paused has nothing to do.
    pub queues: Vec<(&'static str, i64)>,
    /// Deliveries that have not come to rest, always all four states, each counted to 10,000: `due` could be
    /// sent, `later` waits for its next try, `paused` for its endpoint to be enabled, `sending` is on its way.
    pub deliveries: Vec<(&'static str, i64)>,
    /// Of the newest 1,000 dead letters, those that no operator has settled, by failure code: always every code.
    pub dead_letters: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest parked job; 0 when none is parked.
    pub oldest_parked_age: f64,
    /// Workers that hold a lease.
    pub lease_holders: i64,
    /// Leases that have run out and were not taken back yet.
    pub leases_overdue: i64,
    /// Seconds since the oldest lease was claimed; 0 when none is held.
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
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let due = count_due(&mut transaction).await?;
        let leases = read_leases(&mut transaction, now).await?;
        let dead = count_dead_letters(&mut transaction).await?;
        let of_code = |code: FailureCode| {
            let found = dead.iter().find(|(name, _)| name == code.as_str());
            (code.as_str(), found.map_or(0, |(_, count)| *count))
        };
        let waiting = count_deliveries(&mut transaction, now).await?;
        Ok(Backlog {
            queues: QUEUES
                .map(|queue| {
                    (queue, due.iter().find(|(name, _)| name == queue).map_or(0, |(_, count)| *count))
                })
                .to_vec(),
            deliveries: DELIVERY_STATES.into_iter().zip(<[i64; 4]>::from(waiting)).collect(),
            dead_letters: FailureCode::ALL.iter().copied().map(of_code).collect(),
            oldest_parked_age: leases.parked_age,
            lease_holders: leases.holders,
            leases_overdue: leases.overdue,
            oldest_lease_age: leases.oldest_age,
        })
    }
}

#[derive(sqlx::FromRow)]
struct Leases {
    holders: i64,
    overdue: i64,
    oldest_age: f64,
    parked_age: f64,
}

async fn count_due(connection: &mut PgConnection) -> Result<Vec<(String, i64)>, Error> {
    sqlx::query_as(include_str!("../sql/jobs/backlog.sql")).fetch_all(connection).await.doing(DOING)
}

/// There are never more leases than slots of the live workers and of those that died within a lease.
async fn read_leases(connection: &mut PgConnection, now: Timestamp) -> Result<Leases, Error> {
    sqlx::query_as(include_str!("../sql/jobs/leases.sql")).bind(now).fetch_one(connection).await.doing(DOING)
}

/// Which cause is killing jobs now shows in the newest; how many there are in all is a gauge of its own.
async fn count_dead_letters(connection: &mut PgConnection) -> Result<Vec<(String, i64)>, Error> {
    sqlx::query_as(include_str!("../sql/jobs/newest_dead.sql")).fetch_all(connection).await.doing(DOING)
}

/// In the order of [`DELIVERY_STATES`].
async fn count_deliveries(
    connection: &mut PgConnection,
    now: Timestamp,
) -> Result<(i64, i64, i64, i64), Error> {
    sqlx::query_as(include_str!("../sql/deliveries/backlog.sql"))
        .bind(now)
        .fetch_one(connection)
        .await
        .doing(DOING)
}
