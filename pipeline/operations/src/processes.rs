//! The processes of the service: who lives, with how many slots, and what each holds.

use chrono::TimeDelta;
use db::{Error, query, query_as, query_scalar};
use job::Timestamp;

use crate::Operations;

/// A process that was not seen for this long is dead, or cannot reach the database, which is the same to us.
pub(crate) const LIVING: TimeDelta = TimeDelta::seconds(20);

/// Upper bounds of the lengths of runs, in milliseconds; longer ones are counted behind the last.
pub const RUN_MILLIS: [u32; 14] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Process {
    /// Its name in leases, before the slash: host, process id and a word of chance.
    #[sqlx(rename = "process_id")]
    pub id: String,
    pub version: String,
    /// `api`, `worker`, `reconciler`.
    pub roles: Vec<String>,
    /// `inline` or `postgres`.
    pub dispatch_mode: String,
    /// Runs at once from `finalization`; 0 without the role worker.
    #[sqlx(try_from = "i32")]
    pub finalization_slots: u32,
    /// Runs at once from `creation`; 0 without the role worker.
    #[sqlx(try_from = "i32")]
    pub creation_slots: u32,
    /// It takes nothing more.
    pub stopping: bool,
}

/// Runs that ended in a process since it began; what came to them is added to the minute in which it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    pub completed: u64,
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

#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct ProcessView {
    #[sqlx(flatten)]
    pub process: Process,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// Seen within the last 20 seconds.
    pub alive: bool,
    /// The leases it holds, oldest claim first.
    #[sqlx(skip)]
    pub holds: Vec<HeldLease>,
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct HeldLease {
    /// Process and queue, as the lease names them.
    pub worker: String,
    pub user_id: String,
    pub job_id: String,
    pub epoch: i64,
    pub claimed_at: Timestamp,
    /// Until when, unless it is renewed.
    pub expires_at: Timestamp,
}

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

impl Operations {
    /// Says that `process` lives, and what it `ended` since it began. What it said before adds nothing, however often and
    /// however late that arrives; only one that was forgotten meanwhile is counted anew.
    ///
    /// # Errors
    /// When the database does not answer: the next report tells of the same runs again.
    pub async fn report_process(&self, process: &Process, ended: &RunCounts) -> Result<(), Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // Holds the row of the process until the commit, and answers what it last said that it ended.
        let before: Vec<i64> = query_scalar!(
            "processes/report.sql",
            &process.id,
            &process.version,
            &process.roles,
            &process.dispatch_mode,
            process.finalization_slots.cast_signed(),
            process.creation_slots.cast_signed(),
            process.stopping,
            now,
            now - LIVING
        )
        .fetch_one(&mut *transaction)
        .await?;
        let ended = ended.all();
        let more = since(&before, &ended);
        if more.iter().any(|count| *count > 0) {
            query!("processes/minutes_ended.sql", &ended, &process.id).execute(&mut *transaction).await?;
            query!("processes/add_minutes.sql", now, &process.id, &more).execute(&mut *transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Forgets a process that ended in order.
    pub async fn forget_process(&self, id: &str) -> Result<(), Error> {
        query!("processes/forget.sql", id).execute(self.db.pool()).await?;
        Ok(())
    }

    /// All processes with the leases that they hold (at most 1,000).
    pub async fn workers(&self) -> Result<Workers, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let processes = query_as!("processes/list.sql", now, LIVING).fetch_all(&mut *transaction).await?;
        let leases: Vec<HeldLease> = query_as!("processes/leases.sql").fetch_all(&mut *transaction).await?;
        Ok(held(processes, leases))
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
