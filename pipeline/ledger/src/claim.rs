//! Claiming: free slots lease the oldest due jobs of a queue, in one transaction (DESIGN §5). The job table is the queue.

use std::{
    collections::{HashMap, HashSet},
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use db::{Error, index_of, query, query_as, query_scalar};
use job::{Command, JobId, Queue, Timestamp, WorkerId};
use parking_lot::Mutex;
use records::UserId;
use sqlx::{Connection as _, PgConnection};

use crate::{
    Ledger,
    history::Detail,
    row::{self, LockedRow, StoredJob},
};

const DOING: &str = "claiming jobs";

/// How many users a claim looks at, at most twice, to find those whose turn it is.
const USERS_PER_CLAIM: i64 = 64;

/// For how long a job is passed over that could be neither stored nor deferred: as long as one is deferred.
const PASSED_OVER_FOR: Duration = Duration::from_secs(300);

/// How many such jobs are remembered: where more cannot be stored it is not a matter of single rows.
const MOST_PASSED_OVER: usize = 1_000;

/// What a worker asks for.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub queue: Queue,
    pub worker: WorkerId,
    /// How many jobs to claim at most: the worker's free slots.
    pub slots: u32,
    /// How many jobs one user may run in this worker while other users' jobs wait.
    pub share: u32,
    /// How many jobs one user may run in this worker at all: a slot is left for users who have no job yet.
    pub most: u32,
    /// How many jobs of each user the worker is running.
    pub running: HashMap<UserId, u32>,
}

/// A user with the oldest job that waits.
#[derive(sqlx::FromRow)]
struct WaitingUser {
    user_id: String,
    job_id: String,
    is_due: bool,
}

/// How the leases of a claim are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storing {
    /// In one statement.
    Together,
    /// Each behind a savepoint, after one of them was refused: it stops no other.
    Apart,
}

/// What a claim came to.
#[derive(Clone, Debug, Default)]
pub struct JobClaims {
    /// To be run: each is leased.
    pub claims: Vec<StoredJob>,
    /// Jobs that could not be read, decided or stored: each is due again in five minutes.
    pub deferred: u32,
    /// Whether a due job was left because its user runs [`ClaimRequest::most`] jobs here: there may be another claim when
    /// one of them has ended.
    pub held_back: bool,
}

/// The id of the user whose turn was last, for each queue; empty at first.
pub(crate) type Turns = Arc<[Mutex<String>; Queue::ALL.len()]>;

/// Jobs that this process could neither store nor defer, and until when each is passed over: such a row would come first in
/// every claim. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Quarantine(Arc<Mutex<HashMap<String, Instant>>>);

impl Quarantine {
    /// From `now` on `job` is passed over; of too many jobs the oldest is tried again.
    pub(crate) fn add(&self, job: String, now: Instant) {
        let mut jobs = self.0.lock();
        if jobs.len() >= MOST_PASSED_OVER {
            let oldest = jobs.iter().min_by_key(|(_, until)| **until).map(|(job, _)| job.clone());
            oldest.and_then(|oldest| jobs.remove(&oldest));
        }
        jobs.insert(job, now + PASSED_OVER_FOR);
    }

    /// The jobs that are passed over at `now`.
    pub(crate) fn jobs(&self, now: Instant) -> Vec<String> {
        let mut jobs = self.0.lock();
        jobs.retain(|_, until| *until > now);
        jobs.keys().cloned().collect()
    }
}

impl Ledger {
    /// Whether a job of `queue` is due: asked by workers who share their slots with those of other shards.
    pub async fn is_job_due(&self, queue: Queue) -> Result<bool, Error> {
        Ok(query_scalar!("claim/is_due.sql", queue.as_str()).fetch_one(self.db.pool()).await?)
    }

    /// Leases at most `request.slots` due jobs, oldest first. While other users' jobs wait, a user whose jobs fill their
    /// share of the worker is passed over in favour of them. A job that cannot be read, decided or stored is deferred alone.
    ///
    /// # Errors
    /// When the database does not answer; then nothing was claimed.
    pub async fn claim(&self, request: &ClaimRequest) -> Result<JobClaims, Error> {
        match self.db.in_time(self.claim_together(request, Storing::Together)).await {
            // One of the rows cannot be stored.
            Err(Error::Refused { .. }) => self.db.in_time(self.claim_together(request, Storing::Apart)).await,
            done => done,
        }
    }

    /// One transaction for all slots.
    async fn claim_together(&self, request: &ClaimRequest, storing: Storing) -> Result<JobClaims, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        match self.claim_within(&mut transaction, request, storing).await {
            Ok(claims) => {
                transaction.commit().await?;
                Ok(claims)
            }
            Err(error) => {
                // Ended here and not left to the driver: the next claim skips what is still locked.
                let _ended = transaction.rollback().await;
                Err(error)
            }
        }
    }

    async fn claim_within(
        &self,
        connection: &mut PgConnection,
        request: &ClaimRequest,
        storing: Storing,
    ) -> Result<JobClaims, Error> {
        let unstorable = self.quarantine.jobs(Instant::now());
        let due: Vec<LockedRow> =
            query_as!("claim/due.sql", request.queue.as_str(), i64::from(request.slots), &unstorable)
                .fetch_all(&mut *connection)
                .await?;
        let is_crowded = due.len() == request.slots as usize;
        let (mut rows, beyond_share) = request.by_share(due);
        if is_crowded && !beyond_share.is_empty() {
            let others = self.due_of_others(connection, request, &rows, &beyond_share).await?;
            rows.extend(others);
        }
        rows.extend(beyond_share);
        rows.truncate(request.slots as usize);
        let wanted = rows.len();
        let rows = request.within_most(rows);
        let mut claims = JobClaims { held_back: rows.len() < wanted, ..JobClaims::default() };
        let mut leased: Vec<StoredJob> = Vec::with_capacity(rows.len());
        for LockedRow { now, row } in rows {
            let (user_id, job_id) = (row.user_id.clone(), row.job_id.clone());
            match StoredJob::try_from(row).ok().and_then(|stored| self.lease(&stored, &request.worker, now)) {
                Some(stored) => leased.push(stored),
                None => {
                    tracing::error!(
                        job_id,
                        "a job cannot be read or claimed; it is deferred by five minutes"
                    );
                    self.put_aside(connection, &user_id, &job_id).await?;
                    claims.deferred += 1;
                }
            }
        }
        if storing == Storing::Together {
            self.store_leases(connection, &leased).await?;
            claims.claims = leased;
            return Ok(claims);
        }
        for job in leased {
            let mut savepoint = connection.begin().await?;
            match self.store_leases(&mut savepoint, slice::from_ref(&job)).await {
                Ok(()) => {
                    savepoint.commit().await?;
                    claims.claims.push(job);
                }
                Err(Error::Refused { .. }) => {
                    savepoint.rollback().await?;
                    let (user_id, job_id) = (job.user_id.as_str(), job.job.id.as_str());
                    tracing::error!(job_id, "a job cannot be stored; it is deferred by five minutes");
                    self.put_aside(connection, user_id, job_id).await?;
                    claims.deferred += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(claims)
    }

    /// Stores the leases of locked jobs in one statement.
    async fn store_leases(&self, connection: &mut PgConnection, leased: &[StoredJob]) -> Result<(), Error> {
        let Some(now) = leased.first().map(|first| first.updated_at) else { return Ok(()) };
        let rows: Vec<&StoredJob> = leased.iter().collect();
        match row::store(connection, &rows, now, &self.policy).await?.len() < leased.len() {
            true => Err(Error::Contended { doing: DOING }),
            false => Ok(()),
        }
    }

    /// Defers a locked job. A row that refuses this as well is remembered and passed over by this process.
    async fn put_aside(&self, connection: &mut PgConnection, user: &str, job: &str) -> Result<(), Error> {
        let mut savepoint = connection.begin().await?;
        match defer(&mut savepoint, user, job).await {
            Ok(()) => savepoint.commit().await?,
            Err(Error::Refused { .. }) => {
                savepoint.rollback().await?;
                self.quarantine.add(job.to_owned(), Instant::now());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Due jobs of users who have not filled their share, one of each, at most one for each job `beyond_share`. Users take
    /// turns in the order of their ids.
    async fn due_of_others(
        &self,
        connection: &mut PgConnection,
        request: &ClaimRequest,
        within_share: &[LockedRow],
        beyond_share: &[LockedRow],
    ) -> Result<Vec<LockedRow>, Error> {
        let full = request.running.iter().filter(|(_, jobs)| **jobs >= request.share);
        let full: HashSet<&str> = full
            .map(|(user, _)| user.as_str())
            .chain(beyond_share.iter().map(|due| due.row.user_id.as_str()))
            .collect();
        let mut known = self.quarantine.jobs(Instant::now());
        let (mut users, mut jobs) = (Vec::new(), Vec::new());
        let turn = &self.turns[index_of(request.queue)];
        let begin = turn.lock().clone();
        let mut last = begin.clone();
        // From the user whose turn was last to the end of the ids, then once more from their beginning.
        for after in std::iter::once(begin.as_str()).chain((!begin.is_empty()).then_some("")) {
            let waiting: Vec<WaitingUser> =
                query_as!("claim/waiting_users.sql", request.queue.as_str(), after, USERS_PER_CLAIM, &known)
                    .fetch_all(&mut *connection)
                    .await?;
            // Those behind a full page have their turn in the next claim, before the first ones have another.
            let is_full = waiting.len() >= USERS_PER_CLAIM as usize;
            for WaitingUser { user_id, job_id, is_due } in waiting {
                if users.len() == beyond_share.len() {
                    break;
                }
                last.clone_from(&user_id);
                if is_due && !full.contains(user_id.as_str()) && !users.contains(&user_id) {
                    users.push(user_id);
                    jobs.push(job_id);
                }
            }
            if is_full || users.len() == beyond_share.len() {
                break;
            }
        }
        *turn.lock() = last;
        if users.is_empty() {
            return Ok(Vec::new());
        }
        known.extend(within_share.iter().map(|due| due.row.job_id.clone()));
        Ok(query_as!("claim/by_id.sql", users, jobs, known).fetch_all(connection).await?)
    }

    /// Defers a row that errors by five minutes, so that it stops no page.
    pub async fn defer(&self, user: &UserId, job: &JobId) -> Result<(), Error> {
        let mut connection = self.db.pool().acquire().await?;
        defer(&mut connection, user.as_str(), job.as_str()).await
    }

    /// The job under a lease, as it is to be stored; `None` where the decision refuses.
    fn lease(&self, stored: &StoredJob, worker: &WorkerId, now: Timestamp) -> Option<StoredJob> {
        let claim = Command::Claim { generation: stored.job.generation, worker: worker.clone(), keys: false };
        let (leased, _) = self.step(stored, claim, now, Detail::default()).ok()?;
        Some(StoredJob { updated_at: now, ..leased })
    }
}

impl ClaimRequest {
    /// Splits due jobs into those within their user's share and the others, each oldest first.
    fn by_share(&self, due: Vec<LockedRow>) -> (Vec<LockedRow>, Vec<LockedRow>) {
        let mut within_share = self.up_to(self.share);
        due.into_iter().partition(|due| within_share(due))
    }

    /// The rows that leave no user with more than [`ClaimRequest::most`] jobs.
    fn within_most(&self, rows: Vec<LockedRow>) -> Vec<LockedRow> {
        let mut within_most = self.up_to(self.most);
        rows.into_iter().filter(|due| within_most(due)).collect()
    }

    /// Whether a row's user has fewer than `limit` jobs, those counted that it was asked about before.
    fn up_to(&self, limit: u32) -> impl FnMut(&LockedRow) -> bool {
        let mut running: HashMap<String, u32> =
            self.running.iter().map(|(user, jobs)| (user.as_str().to_owned(), *jobs)).collect();
        move |due| {
            let of_user = running.entry(due.row.user_id.clone()).or_default();
            let is_within = *of_user < limit;
            *of_user += u32::from(is_within);
            is_within
        }
    }
}

/// Defers one job by five minutes, so that it stops no other.
async fn defer(connection: &mut PgConnection, user: &str, job: &str) -> Result<(), Error> {
    query!("claim/defer.sql", user, job).execute(connection).await?;
    Ok(())
}

/// Whether `queue` is paused, as a claim asks that names its job.
pub(crate) async fn is_paused(connection: &mut PgConnection, queue: Queue) -> Result<bool, Error> {
    Ok(query_scalar!("claim/is_paused.sql", queue.as_str()).fetch_one(connection).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantine_lasts_five_minutes() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.add("one".to_owned(), now);
        quarantine.add("other".to_owned(), now + Duration::from_secs(1));
        assert_eq!(quarantine.jobs(now).len(), 2);
        assert_eq!(quarantine.jobs(now + PASSED_OVER_FOR), ["other"]);
        assert!(quarantine.jobs(now + PASSED_OVER_FOR + Duration::from_secs(1)).is_empty());
    }

    #[test]
    fn quarantine_holds_a_bounded_number_of_jobs() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        for number in 0..=MOST_PASSED_OVER {
            quarantine.add(number.to_string(), now + Duration::from_millis(number as u64));
        }
        let all = quarantine.jobs(now);
        assert_eq!((all.len(), all.contains(&"0".to_owned())), (MOST_PASSED_OVER, false));
    }
}
