//! The processes of the service: who lives, with how many slots, and what each holds.

use chrono::TimeDelta;
use db::{Doing, Error};
use job::Timestamp;
use sqlx::PgConnection;

use crate::Operations;

/// A process that was not seen for this long is dead, or cannot reach the database, which is the same to us.
pub(crate) const LIVING: TimeDelta = TimeDelta::seconds(20);

/// Upper bounds of the lengths of runs, in milliseconds; longer ones are counted behind the last.
pub const RUN_MILLIS: [u32; 14] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its name in leases, before the slash: host, process id and a word of chance.
    pub id: String,
    /// Of the program.
    pub version: String,
    /// `api`, `worker`, `reconciler`.
    pub roles: Vec<String>,
    /// `inline` or `postgres`.
    pub dispatch_mode: String,
    /// Runs at once from `finalization`; 0 without the role worker.
    pub finalization_slots: u32,
    /// Runs at once from `creation`; 0 without the role worker.
    pub creation_slots: u32,
    /// It takes nothing more.
    pub stopping: bool,
}

/// Runs that ended in a process since it began; what came to them is added to the minute in which it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Committed.
    pub completed: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Given back unharmed, or parked for a better key: no attempt was spent.
    pub released: u64,
    /// Ended by the fence.
    pub lost: u64,
    /// By length, one count per bound of [`RUN_MILLIS`] and one for longer ones.
    pub lengths: [u64; RUN_MILLIS.len() + 1],
}

impl RunCounts {
    /// All of them in the order of the columns: by how runs ended, then by their length.
    fn all(&self) -> Vec<i64> {
        let ends = [self.completed, self.failed, self.released, self.lost];
        ends.iter().chain(&self.lengths).map(|count| count.cast_signed()).collect()
    }
}

/// A process as operators see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessView {
    /// What it says of itself.
    pub process: Process,
    /// When it was first seen.
    pub started_at: Timestamp,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// Seen within the last 20 seconds.
    pub alive: bool,
    /// The leases it holds, oldest claim first.
    pub holds: Vec<HeldLease>,
}

/// A lease and its holder.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct HeldLease {
    /// Process and queue, as the lease names them.
    pub worker: String,
    /// Whose job.
    pub user_id: String,
    /// Which.
    pub job_id: String,
    /// The claim.
    pub epoch: i64,
    /// Since when.
    pub claimed_at: Timestamp,
    /// Until when, unless it is renewed.
    pub expires_at: Timestamp,
}

/// All processes and leases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workers {
    /// Living ones first, then by name.
    pub processes: Vec<ProcessView>,
    /// Leases whose holder never said a word: claimed through another route, or by a process that was forgotten.
    pub strays: Vec<HeldLease>,
}

impl Workers {
    /// Adds what another shard knows. A process reports to each of them: it is listed once, with all that it holds.
    pub fn add(&mut self, other: Self) {
        for found in other.processes {
            match self.processes.iter_mut().find(|known| known.process.id == found.process.id) {
                Some(known) => {
                    known.alive |= found.alive;
                    known.seen_at = known.seen_at.max(found.seen_at);
                    known.holds.extend(found.holds);
                }
                None => self.processes.push(found),
            }
        }
        self.processes.sort_by(|one, two| (two.alive, &one.process.id).cmp(&(one.alive, &two.process.id)));
        self.strays.extend(other.strays);
    }
}

#[derive(sqlx::FromRow)]
struct ProcessRow {
    process_id: String,
    version: String,
    roles: Vec<String>,
    dispatch_mode: String,
    finalization_slots: i32,
    creation_slots: i32,
    stopping: bool,
    started_at: Timestamp,
    seen_at: Timestamp,
    alive: bool,
}

impl From<ProcessRow> for ProcessView {
    fn from(row: ProcessRow) -> Self {
        Self {
            process: Process {
                id: row.process_id,
                version: row.version,
                roles: row.roles,
                dispatch_mode: row.dispatch_mode,
                finalization_slots: row.finalization_slots.unsigned_abs(),
                creation_slots: row.creation_slots.unsigned_abs(),
                stopping: row.stopping,
            },
            started_at: row.started_at,
            seen_at: row.seen_at,
            alive: row.alive,
            holds: Vec::new(),
        }
    }
}

impl Operations {
    /// Says that `process` lives, and what it `ended` since it began. What it said before adds nothing, however often and
    /// however late that arrives; only one that was forgotten meanwhile is counted anew.
    ///
    /// # Errors
    /// When the database does not answer: the next report tells of the same runs again.
    pub async fn report_process(&self, process: &Process, ended: &RunCounts) -> Result<(), Error> {
        const DOING: &str = "reporting a process";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let before = write_process(&mut transaction, process, now).await.doing(DOING)?;
        let ended = ended.all();
        let more = since(&before, &ended);
        if more.iter().any(|count| *count > 0) {
            write_ended(&mut transaction, process, &ended).await.doing(DOING)?;
            write_minute(&mut transaction, process, &more, now).await.doing(DOING)?;
        }
        transaction.commit().await.doing(DOING)
    }

    /// Forgets a process that ended in order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_process(&self, id: &str) -> Result<(), Error> {
        sqlx::query(include_str!("../sql/processes/forget.sql"))
            .bind(id)
            .execute(self.db.pool())
            .await
            .doing("forgetting a process")
            .map(drop)
    }

    /// All processes with the leases that they hold (at most 1,000).
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn workers(&self) -> Result<Workers, Error> {
        const DOING: &str = "reading the processes";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        let rows: Vec<ProcessRow> = sqlx::query_as(include_str!("../sql/processes/list.sql"))
            .bind(now)
            .bind(LIVING)
            .fetch_all(&mut *transaction)
            .await
            .doing(DOING)?;
        let leases: Vec<HeldLease> = sqlx::query_as(include_str!("../sql/processes/leases.sql"))
            .fetch_all(&mut *transaction)
            .await
            .doing(DOING)?;
        Ok(held(rows.into_iter().map(ProcessView::from).collect(), leases))
    }
}

/// Gives each lease to its process.
fn held(mut processes: Vec<ProcessView>, leases: Vec<HeldLease>) -> Workers {
    let mut strays = Vec::new();
    for lease in leases {
        let name = lease.worker.rsplit_once('/').map_or(lease.worker.as_str(), |(process, _)| process);
        match processes.iter_mut().find(|view| view.process.id == name) {
            Some(view) => view.holds.push(lease),
            None => strays.push(lease),
        }
    }
    for view in &mut processes {
        view.holds.sort_by_key(|lease| lease.claimed_at);
    }
    Workers { processes, strays }
}

/// The growth of the counts since `before`, which are zero for a process that never reported any.
fn since(before: &[i64], ended: &[i64]) -> Vec<i64> {
    let before = before.iter().chain(std::iter::repeat(&0));
    ended.iter().zip(before).map(|(ended, before)| (ended - before).max(0)).collect()
}

/// Holds the row of `process` until the commit, and answers what the process last said that it ended.
async fn write_process(
    connection: &mut PgConnection,
    process: &Process,
    now: Timestamp,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar(include_str!("../sql/processes/report.sql"))
        .bind(&process.id)
        .bind(&process.version)
        .bind(&process.roles)
        .bind(&process.dispatch_mode)
        .bind(process.finalization_slots.cast_signed())
        .bind(process.creation_slots.cast_signed())
        .bind(process.stopping)
        .bind(now)
        .bind(now - LIVING)
        .fetch_one(connection)
        .await
}

async fn write_ended(
    connection: &mut PgConnection,
    process: &Process,
    ended: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/processes/minutes_ended.sql"))
        .bind(ended)
        .bind(&process.id)
        .execute(connection)
        .await
        .map(drop)
}

async fn write_minute(
    connection: &mut PgConnection,
    process: &Process,
    more: &[i64],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/processes/add_minutes.sql"))
        .bind(now)
        .bind(&process.id)
        .bind(more)
        .execute(connection)
        .await
        .map(drop)
}
