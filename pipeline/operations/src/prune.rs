//! Retention: what is finished has an age after which it goes, in bounded batches (DESIGN §4).

use std::time::Duration;

use chrono::TimeDelta;
use db::{Error, array, cursor::cutoff, query_as, sql};
use ledger::effects::{add_to_dead_total, add_to_total};
use sqlx::PgConnection;

use crate::Operations;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Finished jobs. A dead letter is one once it is settled, as the admission of a newer revision and the deletion of its
    /// conversation settle it.
    pub jobs: u64,
    /// Finished deliveries, of webhooks and of pushes.
    pub deliveries: u64,
    pub actions: u64,
    /// Names of requests, a day old whatever the age asked for.
    pub requests: u64,
    /// Webhooks of installed apps, moved or removed with their app.
    pub webhooks: u64,
    /// Of the kinds that go at an age of their own, the most that went of one.
    pub short_lived: u64,
}

impl Operations {
    /// Removes one batch of at most `batch` of each, older than `age`; locked rows are skipped; totals follow. Where one
    /// kind cannot be pruned the others are all the same, and the first error is returned with what went.
    pub async fn prune(&self, age: Duration, batch: i64) -> (Pruned, Result<(), Error>) {
        let age = TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
        let mut failed = Ok(());
        let mut gone = |pruned: Result<u64, Error>| {
            pruned.unwrap_or_else(|error| {
                failed = std::mem::replace(&mut failed, Ok(())).and(Err(error));
                0
            })
        };
        let mut short_lived = 0;
        for statement in SHORT_LIVED {
            let pruned = gone(self.db.in_time(self.prune_short_lived(statement, batch)).await);
            short_lived = pruned.max(short_lived);
        }
        gone(self.db.in_time(self.prune_rows(REPLAYS, age, 1)).await);
        let pruned = Pruned {
            jobs: gone(self.db.in_time(self.prune_jobs(age, batch)).await),
            deliveries: gone(self.db.in_time(self.prune_rows(DELIVERIES, age, batch)).await)
                + gone(self.db.in_time(self.prune_rows(PUSHES, age, batch)).await),
            actions: gone(self.db.in_time(self.prune_rows(ACTIONS, age, batch)).await),
            requests: gone(self.db.in_time(self.db.prune_request_keys(batch)).await),
            webhooks: gone(self.db.in_time(self.ledger.store().follow_apps(None)).await),
            short_lived,
        };
        (pruned, failed)
    }

    /// Jobs, with their checkpoints; totals follow. A replayed dead letter is not one
    /// any more.
    async fn prune_jobs(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let doomed: Vec<JobRow> = query_as!("prune/lock_finished.sql", cutoff(now, age), batch)
            .fetch_all(&mut *transaction)
            .await?;
        let jobs = remove_jobs(&mut transaction, &doomed).await?;
        transaction.commit().await?;
        Ok(jobs)
    }

    /// Removes at most `batch` of what one statement finds that goes at an age of its own.
    async fn prune_short_lived(&self, statement: &'static str, batch: i64) -> Result<u64, Error> {
        Ok(sqlx::query(statement).bind(batch).execute(self.db.pool()).await?.rows_affected())
    }

    /// Removes at most `batch` of what one statement finds older than `age`.
    async fn prune_rows(&self, statement: &'static str, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let removed = sqlx::query(statement).bind(cutoff(now, age)).bind(batch).execute(&mut *transaction);
        let gone = removed.await?.rows_affected();
        transaction.commit().await?;
        Ok(gone)
    }
}

/// Minutes behind the last two days, processes that were not seen for one, locations of half an hour ago, installs whose app is gone
/// and those that were removed an hour ago. What another process is removing is left to it: two that waited for one another's
/// rows would never end.
const SHORT_LIVED: [&str; 4] = [
    sql!("prune/minutes.sql"),
    sql!("prune/processes.sql"),
    sql!("prune/locations.sql"),
    sql!("prune/installs.sql"),
];

/// Finished deliveries, and those of events as old that wait for an endpoint which was never enabled again, also if they were
/// recovered since. What waits for its turn at one that is enabled stays.
const DELIVERIES: &str = sql!("prune/deliveries.sql");
const PUSHES: &str = sql!("prune/pushes.sql");
const ACTIONS: &str = sql!("prune/actions.sql");
/// Bulk replays with their lists.
const REPLAYS: &str = sql!("prune/replays.sql");

/// A locked job that is to be removed.
#[derive(sqlx::FromRow)]
pub(crate) struct JobRow {
    pub(crate) user_id: String,
    pub(crate) job_id: String,
}

/// Removes locked jobs, lowers the totals by them, all in the stripe of the first, and says how many there were.
pub(crate) async fn remove_jobs(
    connection: &mut PgConnection,
    doomed: &[JobRow],
) -> Result<u64, sqlx::Error> {
    let Some(JobRow { job_id: first, .. }) = doomed.first() else { return Ok(0) };
    let gone: Vec<Gone> = query_as!(
        "prune/remove_jobs.sql",
        array(doomed, |job| job.user_id.as_str()),
        array(doomed, |job| job.job_id.as_str())
    )
    .fetch_all(&mut *connection)
    .await?;
    for row in &gone {
        add_to_total(connection, &row.status, first, -row.count).await?;
        let Some(code) = &row.dead_code else { continue };
        add_to_dead_total(connection, (code, row.settled), first, -row.count).await?;
    }
    Ok(gone.iter().map(|row| row.count.unsigned_abs()).sum())
}

/// How many jobs of one kind went.
#[derive(sqlx::FromRow)]
struct Gone {
    status: String,
    dead_code: Option<String>,
    settled: bool,
    count: i64,
}
