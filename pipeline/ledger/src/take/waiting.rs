//! What a take finds: the bells that are due, with the jobs that they name, all held until its commit.

use std::collections::HashMap;

use job::{Queue, Timestamp};
use sqlx::{FromRow, PgConnection, Row, postgres::PgRow};

use crate::{
    error::{Doing, Error},
    row::{JobRow, Stored},
};

/// A bell as its row holds it.
#[derive(Clone, Debug, FromRow)]
pub(super) struct BellRow {
    #[sqlx(rename = "bell_job_id")]
    pub(super) job_id: String,
    #[sqlx(rename = "bell_ring")]
    pub(super) ring: i64,
    pub(super) dispatch_generation: i64,
    /// The database's clock when the take began.
    pub(super) now: Timestamp,
}

/// The job of a bell, as the take found it.
pub(super) enum Found {
    Read(Box<Stored>),
    /// Held by somebody's transaction: its bell waits for the next take.
    Locked,
    Unreadable,
}

/// A bell, with its job where that could be held.
struct Waiting {
    bell: BellRow,
    job: Option<JobRow>,
}

impl FromRow<'_, PgRow> for Waiting {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let is_held = row.try_get::<Option<&str>, _>("job_id")?.is_some();
        Ok(Self {
            bell: BellRow::from_row(row)?,
            job: if is_held { Some(JobRow::from_row(row)?) } else { None },
        })
    }
}

/// Holds at most `limit` bells of `queue` that are due, oldest first, and their jobs in key order; what somebody else
/// holds is passed by.
pub(super) async fn hold(
    connection: &mut PgConnection,
    queue: Queue,
    limit: i64,
) -> Result<(Vec<BellRow>, HashMap<String, Found>), Error> {
    let waiting: Vec<Waiting> = sqlx::query_as(
        "with bells as materialized (select job_id, ring, dispatch_generation, ring_at from finalization_bells \
             where queue = $1 and ring_at <= statement_timestamp() \
                 and not exists (select from queue_pauses where queue = $1) \
             order by ring_at, job_id limit $2 for update skip locked), \
         jobs as materialized (select * from finalization_jobs where job_id = any(array(select job_id from bells)) \
             order by user_id, job_id for no key update skip locked) \
         select b.job_id as bell_job_id, b.ring as bell_ring, b.dispatch_generation, statement_timestamp() as now, j.* \
         from bells b left join jobs j on j.job_id = b.job_id order by b.ring_at, b.job_id",
    )
    .bind(queue.as_str())
    .bind(limit)
    .fetch_all(&mut *connection)
    .await
    .doing("taking bells")?;
    let (mut bells, mut found) = (Vec::new(), HashMap::new());
    for Waiting { bell, job } in waiting {
        if let Some(job) = job {
            let read =
                Stored::try_from(job).map_or(Found::Unreadable, |stored| Found::Read(Box::new(stored)));
            found.insert(bell.job_id.clone(), read);
        }
        bells.push(bell);
    }
    let ids: Vec<&str> =
        bells.iter().map(|bell| bell.job_id.as_str()).filter(|id| !found.contains_key(*id)).collect();
    if !ids.is_empty() {
        let there: Vec<String> =
            sqlx::query_scalar("select job_id from finalization_jobs where job_id = any($1)")
                .bind(&ids)
                .fetch_all(connection)
                .await
                .doing("looking for locked jobs")?;
        found.extend(there.into_iter().map(|id| (id, Found::Locked)));
    }
    Ok((bells, found))
}
