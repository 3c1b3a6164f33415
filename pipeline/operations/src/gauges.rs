//! What the service looks like now, read from the database at scrape time (DESIGN §4).

use db::Error;

use crate::Operations;

/// The service's gauges. Costs do not grow with history: each age is the head of an index.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Gauges {
    /// Jobs per status, always all five: (status, count).
    #[sqlx(skip)]
    pub jobs: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest non-terminal job; 0 without one.
    #[sqlx(rename = "nonterminal")]
    pub oldest_nonterminal_age: f64,
    /// The same of the oldest job that is queued or runs, whatever it waits for; what is parked waits for its user.
    #[sqlx(rename = "unfinished")]
    pub oldest_unfinished_age: f64,
    /// The same of the oldest job that is queued with its time come; 0 without one.
    #[sqlx(rename = "ready")]
    pub oldest_ready_age: f64,
    /// Seconds since the oldest undelivered event happened, without those that wait for their endpoint to be enabled, and those
    /// of endpoints that fail while those of less than [`MANY_FAILING`] users do; 0 without one.
    #[sqlx(rename = "delivery")]
    pub oldest_pending_delivery_age: f64,
    /// Live jobs whose check is an hour overdue, counted to 1,000; queued jobs, which wait for a slot, are not counted. Must be 0 (the
    /// owner-with-deadline invariant).
    pub orphans: i64,
}

impl Operations {
    /// One bounded read.
    pub async fn gauges(&self) -> Result<Gauges, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // Live jobs are counted from their partial index, finished ones from the striped totals.
        let counted =
            sqlx::query_as(include_str!("../sql/jobs/counts.sql")).fetch_all(&mut *transaction).await?;
        let ages: Gauges = sqlx::query_as(include_str!("../sql/jobs/ages.sql"))
            .bind(now)
            .bind(MANY_FAILING)
            .fetch_one(&mut *transaction)
            .await?;
        Ok(Gauges { jobs: counts_of(STATUSES, &counted), ..ages })
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

/// What was counted of each of `names`, 0 where nothing was found.
pub(crate) fn counts_of(
    names: impl IntoIterator<Item = &'static str>,
    counted: &[(String, i64)],
) -> Vec<(&'static str, i64)> {
    let of = |name| counted.iter().find(|(found, _)| found == name).map_or(0, |(_, count)| *count);
    names.into_iter().map(|name| (name, of(name))).collect()
}

/// Adds up counts of the same names in the same order.
pub(crate) fn add_counts(counts: &mut [(&'static str, i64)], others: &[(&'static str, i64)]) {
    for ((_, count), (_, other)) in counts.iter_mut().zip(others) {
        *count += other;
    }
}

/// Where the endpoints of so many users fail, their deliveries count as late: the cause is likely ours.
pub const MANY_FAILING: i64 = 5;

/// The five statuses, in the order of a job's life.
const STATUSES: [&str; 5] = ["queued", "leased", "blocked_byok", "completed", "dead_letter"];
