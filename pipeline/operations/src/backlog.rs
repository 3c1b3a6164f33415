//! What the service looks like now, read at scrape time: counts and ages, what waits, and for what.
//!
//! Nothing here grows with history: what is live is read from partial indexes, deliveries are counted to a
//! bound, and of the dead letters only the newest are looked at.

use db::{Error, query_as};
use job::{FailureCode, Queue};

use crate::{Operations, processes::LIVING};

/// What an untold event can be waiting for.
const DELIVERY_STATES: [&str; 4] = ["due", "later", "paused", "sending"];

/// Where the endpoints of so many users fail, their deliveries count as late: the cause is likely ours.
pub const MANY_FAILING: i64 = 5;

/// What a process can be for.
const ROLES: [&str; 3] = ["api", "worker", "reconciler"];

/// The five statuses, in the order of a job's life.
const STATUSES: [&str; 5] = ["queued", "leased", "blocked_byok", "completed", "dead_letter"];

/// The service's gauges. Costs do not grow with history: each age is the head of an index.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Gauges {
    /// Jobs per status, always all five: (status, count).
    #[sqlx(skip)]
    pub jobs: Vec<(&'static str, i64)>,
    /// Living processes per role, always all three: (role, count).
    #[sqlx(skip)]
    pub processes: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest non-terminal job; 0 without one.
    pub oldest_nonterminal_age: f64,
    /// The same of the oldest job that is queued or runs, whatever it waits for; what is parked waits for its user.
    pub oldest_unfinished_age: f64,
    /// The same of the oldest job that is queued with its time come; 0 without one.
    pub oldest_ready_age: f64,
    /// Seconds since the oldest undelivered event happened, without those that wait for their endpoint to be enabled, and those
    /// of endpoints that fail while those of less than [`MANY_FAILING`] users do; 0 without one.
    pub oldest_pending_delivery_age: f64,
    /// Dead letters that wait for an operator: neither cancelled, dismissed nor superseded, nor of a deleted conversation.
    pub waiting_dead_letters: i64,
    /// Live jobs whose check is an hour overdue, counted to 1,000; queued jobs, which wait for a slot, are not counted. Must be 0 (the
    /// owner-with-deadline invariant).
    pub orphans: i64,
}

#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Backlog {
    /// What each queue has to do now, always both: jobs that could run and jobs that run, each counted to 1,000. A queue that is
    /// paused has nothing to do.
    #[sqlx(skip)]
    pub queues: Vec<(&'static str, i64)>,
    /// Unfinished deliveries, always all four states, each counted to 10,000: `due` could be
    /// sent, `later` waits for its next try, `paused` for its endpoint to be enabled, `sending` is on its way.
    #[sqlx(skip)]
    pub deliveries: Vec<(&'static str, i64)>,
    /// Of the newest 1,000 dead letters, those that no operator has settled, by failure code: always every code.
    #[sqlx(skip)]
    pub dead_letters: Vec<(&'static str, i64)>,
    /// Seconds since the last admission or replay of the oldest parked job; 0 when none is parked.
    pub oldest_parked_age: f64,
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

impl Gauges {
    /// The same of two shards: sums, and the older of two ages. Every process works for all shards.
    pub fn add(&mut self, other: &Self) {
        add_counts(&mut self.jobs, &other.jobs);
        self.waiting_dead_letters += other.waiting_dead_letters;
        for (one, (_, other)) in self.processes.iter_mut().zip(&other.processes) {
            one.1 = one.1.max(*other);
        }
        self.oldest_nonterminal_age = self.oldest_nonterminal_age.max(other.oldest_nonterminal_age);
        self.oldest_unfinished_age = self.oldest_unfinished_age.max(other.oldest_unfinished_age);
        self.oldest_ready_age = self.oldest_ready_age.max(other.oldest_ready_age);
        self.oldest_pending_delivery_age =
            self.oldest_pending_delivery_age.max(other.oldest_pending_delivery_age);
        self.orphans += other.orphans;
    }
}

impl Operations {
    /// One bounded read.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let due = query_as!("jobs/backlog.sql").fetch_all(&mut *transaction).await?;
        // There are never more leases than slots of the live workers and of those that died within a lease.
        let leases: Backlog = query_as!("jobs/leases.sql", now).fetch_one(&mut *transaction).await?;
        // Which cause is killing jobs now shows in the newest; how many there are in all is a gauge of its own.
        let dead = query_as!("jobs/newest_dead.sql").fetch_all(&mut *transaction).await?;
        let waiting = query_as!("deliveries/backlog.sql", now).fetch_all(&mut *transaction).await?;
        Ok(Backlog {
            queues: counts_of(Queue::ALL.iter().map(|queue| queue.as_str()), &due),
            deliveries: counts_of(DELIVERY_STATES, &waiting),
            dead_letters: counts_of(FailureCode::ALL.iter().map(|code| code.as_str()), &dead),
            ..leases
        })
    }

    /// One bounded read.
    pub async fn gauges(&self) -> Result<Gauges, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let counted = query_as!("jobs/counts.sql").fetch_all(&mut *transaction).await?;
        let ages: Gauges = query_as!("jobs/ages.sql", now, MANY_FAILING).fetch_one(&mut *transaction).await?;
        let processes = query_as!("processes/by_role.sql", now, LIVING).fetch_all(&mut *transaction).await?;
        let processes = counts_of(ROLES, &processes);
        Ok(Gauges { jobs: counts_of(STATUSES, &counted), processes, ..ages })
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
