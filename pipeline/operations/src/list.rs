//! The list of jobs: filtered, in pages, each page through the index that has its order; and of what the dead letters died that
//! a filter finds.

use db::Error;
use job::{JobId, Timestamp};
use ledger::{
    JobView,
    history::Verb,
    row::{JobRow, StoredJob},
};
use records::UserId;
use sqlx::{Postgres, QueryBuilder};

use crate::Operations;

/// Which jobs to list. Everything that is `None` does not filter.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// One of the five statuses.
    pub status: Option<String>,
    /// A failure code: the cause of dead letters; with a live status, the newest failure.
    pub code: Option<String>,
    pub user: Option<UserId>,
    /// The present dispatch.
    pub generation: Option<i64>,
    /// Admitted at this moment or later. Ages count from the last admission or replay (DECISIONS §4); of completed jobs, and
    /// in a list of all, from the first, by which these lists are ordered.
    pub since: Option<Timestamp>,
    /// Admitted before this moment, by the same count.
    pub until: Option<Timestamp>,
    /// Leave out dead letters that are settled: dismissed by an operator, superseded by a later revision, or of
    /// a conversation that was deleted.
    pub unsettled: bool,
    /// Queued jobs alone whose time comes after this moment.
    pub waits_at: Option<Timestamp>,
    /// Keyset: what comes after this place.
    pub after: Option<JobCursor>,
    pub limit: i64,
}

/// A place in a list: of the last job of a page. Opaque, but stable: it can travel in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCursor {
    /// The moment by which the list is ordered.
    pub at: Timestamp,
    /// Among those of one moment.
    pub job: JobId,
}

/// One page of jobs, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct JobsPage {
    /// At most as many as were asked for.
    pub jobs: Vec<JobView>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<JobCursor>,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    job: JobRow,
    /// The newest transition that the job remembers.
    last_verb: Option<String>,
}

impl JobFilter {
    /// The moment by which the list is ordered: live jobs by their last admission or replay, others by their first.
    fn column(&self) -> &'static str {
        if self.is_live() { "admitted_at" } else { "created_at" }
    }

    /// The moment from which ages count. A dead letter may have been replayed a minute ago.
    fn admitted(&self) -> &'static str {
        if self.counts_replays() { "admitted_at" } else { "created_at" }
    }

    /// That moment of one of the jobs that were found: what a list shows beside a filter of ages.
    pub fn admitted_at(&self, view: &JobView) -> Timestamp {
        if self.counts_replays() { view.job.admitted_at } else { view.created_at }
    }

    fn counts_replays(&self) -> bool {
        self.is_live() || self.is_dead()
    }

    /// Whether only dead letters are found: a failure code alone means those who died of it.
    pub fn is_dead(&self) -> bool {
        self.status.as_deref() == Some("dead_letter") || self.status.is_none() && self.code.is_some()
    }

    fn is_live(&self) -> bool {
        matches!(self.status.as_deref(), Some("queued" | "leased" | "blocked_byok"))
    }

    /// The place of one of the jobs that were found.
    pub fn cursor(&self, view: &JobView) -> JobCursor {
        let at = if self.is_live() { view.job.admitted_at } else { view.created_at };
        JobCursor { at, job: view.job.id.clone() }
    }

    /// The statement, written out for what was asked: the planner then finds the partial index that fits.
    fn query(&self) -> QueryBuilder<Postgres> {
        let mut query =
            QueryBuilder::new("select *, history->-1->>'verb' as last_verb from finalization_jobs where ");
        query.push(match self.status.as_deref() {
            Some("queued" | "leased" | "blocked_byok") => {
                "finished_at is null and admitted_at > '-infinity' and status = "
            }
            Some("dead_letter") => "status = 'dead_letter' and status = ",
            Some(_) => "status = ",
            None if self.code.is_some() => "status = 'dead_letter'",
            None => "true",
        });
        if let Some(status) = &self.status {
            query.push_bind(status.clone());
        }
        self.narrow(&mut query);
        if let Some(after) = &self.after {
            query.push(format_args!(" and ({}, job_id) < (", self.column()));
            query.push_bind(after.at).push(", ").push_bind(after.job.as_str().to_owned()).push(")");
        }
        query.push(format_args!(" order by {} desc, job_id desc limit ", self.column()));
        query.push_bind(self.limit);
        query
    }

    /// Everything but status, order and place.
    pub(super) fn narrow(&self, query: &mut QueryBuilder<Postgres>) {
        if let Some(code) = &self.code {
            query.push(if self.is_live() { " and last_code = " } else { " and dead_code = " });
            query.push_bind(code.clone());
        }
        if let Some(user) = &self.user {
            query.push(" and user_id = ").push_bind(user.as_str().to_owned());
        }
        if let Some(generation) = self.generation {
            query.push(" and generation = ").push_bind(generation);
        }
        if let Some(since) = self.since {
            query.push(" and ").push(self.admitted()).push(" >= ").push_bind(since);
            // Nothing dies before it is admitted: what is still unsettled stands in an index by when it died.
            if self.is_dead() && self.unsettled {
                query.push(" and finished_at > ").push_bind(since);
            }
        }
        if let Some(until) = self.until {
            query.push(" and ").push(self.admitted()).push(" < ").push_bind(until);
            // Nor is anything replayed before its first admission, by which dead letters are listed.
            if self.is_dead() {
                query.push(" and created_at <= ").push_bind(until);
            }
        }
        if self.unsettled {
            query.push(" and settled_at is null");
        }
        if let Some(now) = self.waits_at {
            query.push(" and status = 'queued' and ready_at > ").push_bind(now);
        }
    }
}

/// Dead letters that are looked at; where there are more, the newest ones.
const MOST_DEAD: i64 = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// Per failure code, most frequent first.
    pub codes: Vec<Cause>,
    /// There were more than 10,000: only the newest of them were looked at.
    pub cut: bool,
}

/// The dead letters of one cause.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Cause {
    pub code: String,
    /// How many, settled ones among them.
    pub jobs: i64,
    /// Those that an operator has dismissed or a later revision superseded, until they are pruned.
    pub settled: i64,
}

impl Cause {
    /// Those that wait for an operator.
    pub fn waiting(&self) -> i64 {
        self.jobs - self.settled
    }

    /// Adds what was found in another shard, most first.
    pub(crate) fn add(causes: &mut Vec<Self>, others: &[Self]) {
        for found in others {
            match causes.iter_mut().find(|cause| cause.code == found.code) {
                Some(cause) => {
                    cause.jobs += found.jobs;
                    cause.settled += found.settled;
                }
                None => causes.push(found.clone()),
            }
        }
        causes.sort_by(|one, two| (two.jobs, &one.code).cmp(&(one.jobs, &two.code)));
    }
}

impl Causes {
    /// Adds what was found in another shard.
    pub fn add(&mut self, other: &Self) {
        Cause::add(&mut self.codes, &other.codes);
        self.cut |= other.cut;
    }
}

impl Operations {
    /// A page of jobs, newest first. An unreadable row is an error with its id.
    pub async fn jobs_page(&self, filter: &JobFilter) -> Result<JobsPage, Error> {
        let mut transaction = self.db.begin_reading().await?;
        let asked = JobFilter { limit: filter.limit.saturating_add(1), ..filter.clone() };
        // Planned for the ages that were asked for: which index is short depends on them.
        let rows: Vec<Row> =
            asked.query().build_query_as().persistent(false).fetch_all(&mut *transaction).await?;
        let view = |row: Row| {
            let view = self.ledger.job_view(StoredJob::try_from(row.job)?);
            // A dead letter that is settled stays as it is until it is replayed.
            let last = row.last_verb.filter(|_| view.job.settled_at.is_some());
            Ok(JobView { settled_by: last.and_then(|verb| Verb::from_name(&verb)), ..view })
        };
        let views: Result<Vec<JobView>, Error> = rows.into_iter().map(view).collect();
        let mut jobs = views?;
        let more = i64::try_from(jobs.len()).is_ok_and(|found| found > filter.limit);
        if more {
            jobs.pop();
        }
        let next = jobs.last().filter(|_| more).map(|last| filter.cursor(last));
        Ok(JobsPage { jobs, next })
    }

    /// Counts the dead letters that `filter` finds, whatever its status, place and limit say.
    pub async fn causes(&self, filter: &JobFilter) -> Result<Causes, Error> {
        let dead = JobFilter { status: Some("dead_letter".to_owned()), ..filter.clone() };
        let mut query = QueryBuilder::new(
            "select dead_code as code, count(*) as jobs, count(settled_at) as settled from \
                 (select dead_code, settled_at from finalization_jobs where status = 'dead_letter'",
        );
        dead.narrow(&mut query);
        query.push(" order by created_at desc, job_id desc limit ").push_bind(MOST_DEAD + 1);
        query.push(") found group by dead_code order by 2 desc, 1");
        let codes: Vec<Cause> = query.build_query_as().fetch_all(self.db.pool()).await?;
        let cut = codes.iter().map(|cause| cause.jobs).sum::<i64>() > MOST_DEAD;
        Ok(Causes { codes, cut })
    }
}
