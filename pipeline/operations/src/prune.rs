//! Retention: what is finished has an age after which it goes, in bounded batches (DESIGN §4).

use std::time::Duration;

use chrono::TimeDelta;
use db::{
    Doing, Error,
    cursor::{self, Cursor, KeysetPage, cutoff},
};
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

const LETTERS: &str = "pruning dead letters";

/// What a batch removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Finished jobs (never an unsettled dead letter: see `prune_dead_letters`).
    pub jobs: u64,
    /// Finished deliveries, of webhooks and of pushes.
    pub deliveries: u64,
    /// Operator actions.
    pub actions: u64,
    /// Names of requests, a day old whatever the age asked for.
    pub requests: u64,
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
        gone(self.db.in_time(self.prune_presence(batch)).await);
        gone(self.db.in_time(self.prune_replays(age)).await);
        gone(self.db.in_time(self.ledger.store().prune_locations(batch)).await);
        gone(self.db.in_time(self.ledger.store().prune_installs(batch)).await);
        gone(self.db.in_time(self.ledger.store().follow_apps(None)).await);
        let pruned = Pruned {
            jobs: gone(self.db.in_time(self.prune_jobs(age, batch)).await),
            deliveries: gone(self.db.in_time(self.prune_deliveries(age, batch)).await)
                + gone(self.db.in_time(self.prune_pushes(age, batch)).await),
            actions: gone(self.db.in_time(self.prune_actions(age, batch)).await),
            requests: gone(self.db.in_time(self.db.prune_request_keys(batch)).await),
        };
        (pruned, failed)
    }

    /// Looks at `limit` unsettled dead letters older than `age`, oldest first from `after` on, and removes those
    /// that a newer revision superseded or whose conversation is gone. The others stay however old they are, so that they
    /// pile up before all that may go.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn prune_dead_letters(
        &self,
        age: Duration,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<u64>, Error> {
        let age = TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
        let (mut transaction, now) = self.db.begin(LETTERS).await?;
        let (at, user, id) = cursor::bound(after);
        let page: Vec<(Timestamp, String, String)> = sqlx::query_as(
            "select finished_at, user_id, job_id from finalization_jobs \
             where status = 'dead_letter' and settled_at is null and finished_at < $1 \
                 and (finished_at, user_id, job_id) \
                     > (coalesce($3::timestamptz, '-infinity'), coalesce($4, ''), coalesce($5, '')) \
             order by finished_at, user_id, job_id limit $2",
        )
        .bind(cutoff(now, age))
        .bind(limit)
        .bind(at)
        .bind(user)
        .bind(id)
        .fetch_all(&mut *transaction)
        .await
        .doing(LETTERS)?;
        let found = remove_needless(&mut transaction, &page).await?;
        transaction.commit().await.doing(LETTERS)?;
        Ok(KeysetPage { found, next: cursor::next_cursor(page.len(), limit, page.into_iter().next_back()) })
    }

    /// Jobs, with their checkpoints; the stripes of the totals are lowered by what went. A replayed dead letter is not one
    /// any more.
    async fn prune_jobs(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        const DOING: &str = "pruning jobs";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let doomed: Vec<JobRow> = sqlx::query_as(include_str!("../sql/prune/lock_finished.sql"))
            .bind(cutoff(now, age))
            .bind(batch)
            .fetch_all(&mut *transaction)
            .await
            .doing(DOING)?;
        let jobs = remove_jobs(&mut transaction, &doomed).await.doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(jobs)
    }

    /// Finished deliveries, and those of events as old that wait for an endpoint which was never enabled again, also if they were
    /// recovered since. What waits for its turn at one that is enabled stays.
    async fn prune_deliveries(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        const DOING: &str = "pruning deliveries";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let gone = sqlx::query(
            "with finished as (select user_id, endpoint_id, delivery_id from webhook_deliveries \
                 where finished_at < $1 order by finished_at limit $2 for update skip locked), \
             parked as (select user_id, endpoint_id, delivery_id from webhook_deliveries d \
                 where status in ('pending', 'sending') and occurred_at < $1 and next_at = 'infinity' \
                     and not exists (select from webhook_endpoints e \
                         where e.user_id = d.user_id and e.endpoint_id = d.endpoint_id and e.enabled) \
                 order by occurred_at limit greatest($2 - (select count(*) from finished), 0) \
                 for update skip locked) \
             delete from webhook_deliveries w using (select * from finished union all select * from parked) d \
             where w.user_id = d.user_id and w.endpoint_id = d.endpoint_id and w.delivery_id = d.delivery_id",
        )
        .bind(cutoff(now, age))
        .bind(batch)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(gone.rows_affected())
    }

    /// Minutes behind the last two days, and processes that were not seen for one: they are not read any more. What
    /// another process is removing is left to it: two that waited for one another's rows would never end.
    async fn prune_presence(&self, batch: i64) -> Result<u64, Error> {
        for statement in [
            "with doomed as (select minute, process_id from service_minutes \
                 where minute < statement_timestamp() - interval '2 days' order by minute limit $1 for update skip locked) \
             delete from service_minutes m using doomed d where m.minute = d.minute and m.process_id = d.process_id",
            "with doomed as (select process_id from service_processes \
                 where seen_at < statement_timestamp() - interval '1 day' limit $1 for update skip locked) \
             delete from service_processes p using doomed d where p.process_id = d.process_id",
        ] {
            sqlx::query(statement).bind(batch).execute(self.db.pool()).await.doing("pruning processes")?;
        }
        Ok(0)
    }

    /// One bulk replay that ended long ago, with its list.
    async fn prune_replays(&self, age: TimeDelta) -> Result<u64, Error> {
        const DOING: &str = "pruning replays";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        sqlx::query(
            "delete from replay_operations where operation_id = (select operation_id from replay_operations \
                 where finished_at < $1 order by created_at limit 1 for update skip locked)",
        )
        .bind(cutoff(now, age))
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(0)
    }

    async fn prune_pushes(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        const DOING: &str = "pruning pushes";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let gone = sqlx::query(
            "with doomed as (select user_id, subscription_id, delivery_id from push_deliveries \
                 where finished_at < $1 order by finished_at limit $2 for update skip locked) \
             delete from push_deliveries p using doomed d where p.user_id = d.user_id \
                 and p.subscription_id = d.subscription_id and p.delivery_id = d.delivery_id",
        )
        .bind(cutoff(now, age))
        .bind(batch)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(gone.rows_affected())
    }

    async fn prune_actions(&self, age: TimeDelta, batch: i64) -> Result<u64, Error> {
        const DOING: &str = "pruning operator actions";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let gone = sqlx::query(
            "with doomed as (select user_id, action_id from operator_actions where created_at < $1 \
                 order by created_at limit $2 for update skip locked) \
             delete from operator_actions a using doomed d \
             where a.user_id = d.user_id and a.action_id = d.action_id",
        )
        .bind(cutoff(now, age))
        .bind(batch)
        .execute(&mut *transaction)
        .await
        .doing(DOING)?;
        transaction.commit().await.doing(DOING)?;
        Ok(gone.rows_affected())
    }
}

/// Removes those of a page that no operator will ever look for: each as it was when the page was read.
async fn remove_needless(
    connection: &mut PgConnection,
    page: &[(Timestamp, String, String)],
) -> Result<u64, Error> {
    if page.is_empty() {
        return Ok(0);
    }
    let doomed: Vec<JobRow> = sqlx::query_as(include_str!("../sql/prune/lock_needless.sql"))
        .bind(page.iter().map(|(at, ..)| *at).collect::<Vec<_>>())
        .bind(page.iter().map(|(_, user, _)| user.as_str()).collect::<Vec<_>>())
        .bind(page.iter().map(|(.., id)| id.as_str()).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await
        .doing(LETTERS)?;
    remove_jobs(connection, &doomed).await.doing(LETTERS)
}

/// A locked job that is to be removed.
#[derive(sqlx::FromRow)]
pub(crate) struct JobRow {
    pub(crate) user_id: String,
    pub(crate) job_id: String,
}

/// Removes locked jobs, lowers the totals by them, and says how many there were.
pub(crate) async fn remove_jobs(
    connection: &mut PgConnection,
    doomed: &[JobRow],
) -> Result<u64, sqlx::Error> {
    if doomed.is_empty() {
        return Ok(0);
    }
    let gone: Vec<Gone> = sqlx::query_as(include_str!("../sql/prune/remove_jobs.sql"))
        .bind(doomed.iter().map(|job| job.user_id.as_str()).collect::<Vec<_>>())
        .bind(doomed.iter().map(|job| job.job_id.as_str()).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?;
    for row in &gone {
        row.uncount(connection).await?;
    }
    Ok(gone.iter().map(|row| row.count.unsigned_abs()).sum())
}

/// How many jobs of one kind went.
#[derive(sqlx::FromRow)]
struct Gone {
    status: String,
    stripe: i16,
    dead_code: Option<String>,
    settled: bool,
    count: i64,
}

impl Gone {
    /// Lowers the totals that counted them.
    async fn uncount(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        sqlx::query("update finalization_totals set jobs = jobs - $3 where status = $1 and stripe = $2")
            .bind(&self.status)
            .bind(self.stripe)
            .bind(self.count)
            .execute(&mut *connection)
            .await?;
        let Some(code) = &self.dead_code else { return Ok(()) };
        sqlx::query(
            "insert into dead_letter_totals as t (code, settled, stripe, jobs) values ($1, $2, $3, -$4) \
             on conflict (code, settled, stripe) do update set jobs = t.jobs + excluded.jobs",
        )
        .bind(code)
        .bind(self.settled)
        .bind(self.stripe)
        .bind(self.count)
        .execute(connection)
        .await
        .map(drop)
    }
}
