//! What a take finds: the bells that are due, with the jobs that they name.

use std::{collections::HashMap, time::Duration};

use job::{Queue, Timestamp};
use sqlx::{FromRow, PgConnection, Row, postgres::PgRow};

use super::heads::Place;
use crate::{
    error::{Doing, Error},
    row::{JobRow, Stored},
};

/// A ring time that can be read: nobody here writes one that is not, and whoever does stops nobody. The first of them may stand
/// for an earlier one: who begins to look there begins at the front.
macro_rules! ring_at {
    () => {
        "least(greatest(b.ring_at, '0001-01-01'), '9999-12-31')"
    };
}
pub(super) use ring_at;

/// A bell as its row holds it.
#[derive(Clone, Debug, FromRow)]
pub(super) struct BellRow {
    #[sqlx(rename = "bell_job_id")]
    pub(super) job_id: String,
    #[sqlx(rename = "bell_ring")]
    pub(super) ring: i64,
    #[sqlx(rename = "bell_ring_at")]
    ring_at: Timestamp,
    pub(super) dispatch_generation: i64,
    /// The database's clock when the take began.
    pub(super) now: Timestamp,
}

impl BellRow {
    #[cfg(test)]
    pub(super) fn of(job: &str, ring_at: Timestamp) -> Self {
        Self { job_id: job.to_owned(), ring: 1, ring_at, dispatch_generation: 1, now: ring_at }
    }

    pub(super) fn place(&self) -> Place {
        Place { ring_at: self.ring_at, job_id: self.job_id.clone() }
    }
}

/// The job of a bell, as the take found it.
pub(super) enum Found {
    Read(Box<Stored>),
    /// Held by somebody's transaction: its bell waits for the next take.
    Locked,
    Unreadable,
}

/// A bell, with its job where that is there, and could be held where it was to be.
struct Waiting {
    bell: BellRow,
    job: Option<JobRow>,
}

impl FromRow<'_, PgRow> for Waiting {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let is_there = row.try_get::<Option<&str>, _>("job_id")?.is_some();
        Ok(Self {
            bell: BellRow::from_row(row)?,
            job: if is_there { Some(JobRow::from_row(row)?) } else { None },
        })
    }
}

/// What a look finds: the bells that are due, oldest first, with the jobs that are there, and how long no other will be due.
pub(super) struct Seen {
    pub(super) now: Timestamp,
    pub(super) bells: Vec<BellRow>,
    pub(super) jobs: HashMap<String, Found>,
    pub(super) quiet_for: Duration,
}

/// One of the first bells, due or not; or only the clock, where there is none.
struct Ahead {
    now: Timestamp,
    waiting: Option<Waiting>,
}

impl FromRow<'_, PgRow> for Ahead {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let rings = row.try_get::<Option<&str>, _>("bell_job_id")?.is_some();
        Ok(Self {
            now: row.try_get("now")?,
            waiting: if rings { Some(Waiting::from_row(row)?) } else { None },
        })
    }
}

/// Looks at the first `limit` bells of `queue` from a place on, and holds nothing. A paused queue has none.
pub(super) async fn see(
    connection: &mut PgConnection,
    queue: Queue,
    from: Option<&Place>,
    limit: i64,
) -> Result<Seen, Error> {
    let ahead: Vec<Ahead> = sqlx::query_as(
        concat!("with bells as materialized (select job_id, ring, dispatch_generation, ring_at from finalization_bells \
             where queue = $1 and (ring_at, job_id) >= (coalesce(nullif($3::timestamptz, '0001-01-01'), '-infinity'), \
                     coalesce($4, '')) \
                 and not exists (select from queue_pauses where queue = $1) \
             order by ring_at, job_id limit $2) \
         select t.now, b.job_id as bell_job_id, b.ring as bell_ring, ", ring_at!(), " as bell_ring_at, b.dispatch_generation, j.* \
         from (select statement_timestamp() as now) t left join bells b on true \
         left join finalization_jobs j on j.job_id = b.job_id and b.ring_at <= t.now \
         order by b.ring_at, b.job_id"),
    )
    .bind(queue.as_str())
    .bind(limit)
    .bind(from.map(|place| place.ring_at))
    .bind(from.map(|place| &place.job_id))
    .fetch_all(connection)
    .await
    .doing("looking at bells")?;
    let now = ahead.first().map_or(Timestamp::MIN_UTC, |first| first.now);
    let (due, later): (Vec<_>, Vec<_>) =
        ahead.into_iter().filter_map(|row| row.waiting).partition(|waiting| waiting.bell.ring_at <= now);
    let next = later.first().map(|waiting| waiting.bell.ring_at - now);
    let quiet_for = next.map_or(Duration::MAX, |wait| wait.to_std().unwrap_or_default());
    let (bells, jobs) = read(due);
    Ok(Seen { now, bells, jobs, quiet_for })
}

fn read(waiting: impl IntoIterator<Item = Waiting>) -> (Vec<BellRow>, HashMap<String, Found>) {
    let (mut bells, mut found) = (Vec::new(), HashMap::new());
    for Waiting { bell, job } in waiting {
        if let Some(job) = job {
            let read =
                Stored::try_from(job).map_or(Found::Unreadable, |stored| Found::Read(Box::new(stored)));
            found.insert(bell.job_id.clone(), read);
        }
        bells.push(bell);
    }
    (bells, found)
}

/// Holds at most `limit` bells of `queue` that are due, oldest first from a place on, and their jobs in key order. What
/// somebody else holds is passed by, and others take its place: however many are held, a slot stays free only where nothing
/// else is due.
pub(super) async fn hold(
    connection: &mut PgConnection,
    queue: Queue,
    from: Option<&Place>,
    limit: i64,
) -> Result<(Vec<BellRow>, HashMap<String, Found>), Error> {
    let waiting: Vec<Waiting> = sqlx::query_as(
        concat!("with bells as materialized (select job_id, ring, dispatch_generation, ring_at from finalization_bells \
             where queue = $1 and ring_at <= statement_timestamp() \
                 and (ring_at, job_id) >= (coalesce(nullif($3::timestamptz, '0001-01-01'), '-infinity'), \
                     coalesce($4, '')) \
                 and not exists (select from queue_pauses where queue = $1) \
             order by ring_at, job_id limit $2 for update skip locked), \
         jobs as materialized (select * from finalization_jobs where job_id = any(array(select job_id from bells)) \
             order by user_id, job_id for no key update skip locked) \
         select b.job_id as bell_job_id, b.ring as bell_ring, ", ring_at!(), " as bell_ring_at, b.dispatch_generation, \
             statement_timestamp() as now, j.* \
         from bells b left join jobs j on j.job_id = b.job_id order by b.ring_at, b.job_id"),
    )
    .bind(queue.as_str())
    .bind(limit)
    .bind(from.map(|place| place.ring_at))
    .bind(from.map(|place| &place.job_id))
    .fetch_all(&mut *connection)
    .await
    .doing("taking bells")?;
    let (mut bells, mut found) = read(waiting);
    let ids: Vec<&str> =
        bells.iter().map(|bell| bell.job_id.as_str()).filter(|id| !found.contains_key(*id)).collect();
    if !ids.is_empty() {
        let there: Vec<String> =
            sqlx::query_scalar("select job_id from finalization_jobs where job_id = any($1)")
                .bind(&ids)
                .fetch_all(&mut *connection)
                .await
                .doing("looking for locked jobs")?;
        let locked = i64::try_from(there.len()).unwrap_or(i64::MAX);
        found.extend(there.into_iter().map(|id| (id, Found::Locked)));
        let behind = bells.last().map(BellRow::place).filter(|_| locked > 0 && bells.len() as i64 == limit);
        if let Some(behind) = behind {
            let (more, theirs) = read(hold_behind(connection, queue, &behind, locked).await?);
            bells.extend(more);
            found.extend(theirs);
        }
    }
    Ok((bells, found))
}

/// Holds at most `limit` bells behind a place whose jobs are there and held by nobody. Nothing is waited for, so that jobs need
/// not be held in key order.
async fn hold_behind(
    connection: &mut PgConnection,
    queue: Queue,
    place: &Place,
    limit: i64,
) -> Result<Vec<Waiting>, Error> {
    sqlx::query_as(concat!(
        "select b.job_id as bell_job_id, b.ring as bell_ring, ",
        ring_at!(),
        " as bell_ring_at, b.dispatch_generation, statement_timestamp() as now, j.* \
         from finalization_bells b join finalization_jobs j on j.job_id = b.job_id \
         where b.queue = $1 and b.ring_at <= statement_timestamp() \
             and (b.ring_at, b.job_id) > ($3, $4) order by b.ring_at, b.job_id limit $2 \
             for update of b skip locked for no key update of j skip locked",
    ))
    .bind(queue.as_str())
    .bind(limit)
    .bind(place.ring_at)
    .bind(&place.job_id)
    .fetch_all(connection)
    .await
    .doing("taking bells behind those that are held")
}
