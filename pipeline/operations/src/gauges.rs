//! What the service looks like now, read from the database at scrape time (DESIGN §4).

use db::{Doing, Error};
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

const DOING: &str = "reading the gauges";

/// The service's gauges. Costs do not grow with history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Jobs per status, always all five: (status, count).
    pub jobs: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest non-terminal job; 0 without one.
    pub oldest_nonterminal_age: f64,
    /// The same of the oldest job that is queued or runs, whatever it waits for; what is parked waits for its user.
    pub oldest_unfinished_age: f64,
    /// The same of the oldest job that is queued with its time come; 0 without one.
    pub oldest_ready_age: f64,
    /// Seconds since the oldest undelivered event happened, without those of endpoints that fail while those of less than
    /// [`MANY_FAILING`] users do; 0 without one.
    pub oldest_pending_delivery_age: f64,
    /// Non-terminal jobs without an owner: must be 0 (the owner-with-deadline invariant).
    pub orphans: i64,
}

impl Operations {
    /// One bounded read.
    pub async fn gauges(&self) -> Result<Gauges, Error> {
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let counted = count_jobs(&mut transaction).await?;
        let jobs = STATUSES.map(|status| {
            let found = counted.iter().find(|(name, _)| name == status);
            (status, found.map_or(0, |(_, count)| *count))
        });
        let ages = read_ages(&mut transaction, now).await?;
        Ok(Gauges {
            jobs: jobs.to_vec(),
            oldest_nonterminal_age: ages.nonterminal,
            oldest_unfinished_age: ages.unfinished,
            oldest_ready_age: ages.ready,
            oldest_pending_delivery_age: ages.delivery,
            orphans: ages.orphans,
        })
    }
}

impl Gauges {
    /// The same of two shards: sums, and the older of two ages.
    pub fn add(&mut self, other: &Self) {
        add_counts(&mut self.jobs, &other.jobs);
        self.oldest_nonterminal_age = self.oldest_nonterminal_age.max(other.oldest_nonterminal_age);
        self.oldest_unfinished_age = self.oldest_unfinished_age.max(other.oldest_unfinished_age);
        self.oldest_ready_age = self.oldest_ready_age.max(other.oldest_ready_age);
        self.oldest_pending_delivery_age =
            self.oldest_pending_delivery_age.max(other.oldest_pending_delivery_age);
        self.orphans += other.orphans;
    }
}

/// Adds up counts of the same names in the same order.
pub(crate) fn add_counts(counts: &mut [(&'static str, i64)], others: &[(&'static str, i64)]) {
    for ((_, count), (_, other)) in counts.iter_mut().zip(others) {
        *count += other;
    }
}

/// Where the endpoints of so many users fail, their deliveries count as late.
pub const MANY_FAILING: i64 = 5;

/// The five statuses, in the order of a job's life.
const STATUSES: [&str; 5] = ["queued", "leased", "blocked_byok", "completed", "dead_letter"];

/// Live jobs are counted from their partial index, finished ones from the striped totals.
async fn count_jobs(connection: &mut PgConnection) -> Result<Vec<(String, i64)>, Error> {
    sqlx::query_as(include_str!("../sql/jobs/counts.sql")).fetch_all(connection).await.doing(DOING)
}

/// Ages in seconds, 0 where nothing waits.
#[derive(sqlx::FromRow)]
struct Ages {
    nonterminal: f64,
    unfinished: f64,
    ready: f64,
    delivery: f64,
    orphans: i64,
}

/// Each age is the head of an index. An orphan is a live job whose check is an hour overdue, counted to 1,000; a queued job waits
/// for a slot and is not one. Deliveries that wait for their endpoint to be enabled again are no backlog, and those of one that
/// fails are its owner's matter, until so many users' endpoints fail that the cause is likely ours.
async fn read_ages(connection: &mut PgConnection, now: Timestamp) -> Result<Ages, Error> {
    sqlx::query_as(include_str!("../sql/jobs/ages.sql"))
        .bind(now)
        .bind(MANY_FAILING)
        .fetch_one(connection)
        .await
        .doing(DOING)
}
