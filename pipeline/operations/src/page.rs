//! One job, with everything that explains it: history, audit, and what lies around it.

use db::{Error, query_as, query_scalar};
use job::{Cause, Job, JobId, SILENT_AFTER, State, Surroundings, Timestamp, Why, why};
use ledger::{
    Event, JobView, Spent,
    history::{History, Verb},
    spent_by,
};
use records::{ConversationId, UserId};
use sqlx::PgConnection;
use store::{LiveUsage, live::live_usage};

use crate::{ActionFilter, ActionView, Operations, processes::LIVING};

/// A job's page. Never a person's words.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPage {
    /// The job with its checkpoints.
    pub view: JobView,
    /// Its edges, oldest first; the newest 64 at most.
    pub history: Vec<Event>,
    /// The engine behind what the conversation shows, where this job made it; with the model and the version of its
    /// prompts. `None` before it completed, and when a later revision has replaced what it made.
    pub engine: Option<String>,
    /// What its runs spent at model servers, by run and stage.
    pub spent: Vec<Spent>,
    /// What the speech of its conversation took, where it was spoken live.
    pub speech: Vec<LiveUsage>,
    /// What operators did to it, newest first; 50 at most.
    pub actions: Vec<ActionView>,
    pub around: Surroundings,
    pub why: Why,
    /// The database's clock when the page was read.
    pub at: Timestamp,
}

impl JobPage {
    /// What lies behind the last failure or release of a job that is not done, and since when it has been the same one.
    pub fn cause(&self) -> Option<(&Cause, Timestamp)> {
        if matches!(self.view.job.state, State::Completed { .. }) {
            return None;
        }
        let mut causes =
            self.history.iter().rev().filter(|event| event.verb != Verb::Claim).map_while(|event| {
                let cause = event.cause.as_ref()?;
                Some((cause, event.at))
            });
        let (last, at) = causes.next()?;
        let same = causes.take_while(|(cause, _)| cause.code == last.code && cause.class == last.class);
        Some((last, same.last().map_or(at, |(_, first)| first)))
    }
}

/// How often a page is read at most, when the job moves meanwhile.
const READS: usize = 3;

impl Operations {
    /// A job's page; `None`: no such job.
    pub async fn job_page(&self, id: &JobId) -> Result<Option<JobPage>, Error> {
        for _ in 1..READS {
            match self.read_job_page(id).await? {
                Some((page, false)) => return Ok(Some(page)),
                Some((_, true)) => {}
                None => return Ok(None),
            }
        }
        Ok(self.read_job_page(id).await?.map(|(page, _)| page))
    }

    /// A page, and whether the job moved while it was read: what was found around it may then belong to another state.
    async fn read_job_page(&self, id: &JobId) -> Result<Option<(JobPage, bool)>, Error> {
        let Some(view) = self.ledger.job(id).await? else { return Ok(None) };
        let filter = ActionFilter {
            job: Some((view.user_id.clone(), view.job.id.clone())),
            limit: 50,
            ..ActionFilter::default()
        };
        let actions = self.actions(&filter).await?;
        let (mut transaction, now) = self.db.begin().await?;
        let engine = engine_shown(&mut transaction, &view).await?;
        let spent = spent_by(&mut transaction, &view.user_id, &view.job.id).await?;
        let speech = live_usage(&mut transaction, &view.user_id, &view.conversation_id).await?;
        let around = surroundings(&mut transaction, &view, now).await?;
        // Last, so that a version that still holds was there all the while.
        let found: Option<(History, i64)> =
            query_as!("jobs/history.sql", &view.user_id, view.job.id.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        let Some((history, version)) = found else { return Ok(None) };
        let moved = version != view.version;
        let why = why(&view.job, &around, now, self.ledger.policy());
        let history = history.events().collect();
        Ok(Some((JobPage { view, history, engine, spent, speech, actions, around, why, at: now }, moved)))
    }
}

/// A conversation keeps the engine of what it shows; only the newest completed job made that.
async fn engine_shown(connection: &mut PgConnection, view: &JobView) -> Result<Option<String>, sqlx::Error> {
    if !matches!(view.job.state, State::Completed { .. }) {
        return Ok(None);
    }
    let engine: Option<Option<String>> = query_scalar!(
        "jobs/engine_of_result.sql",
        UserId::as_str(&view.user_id),
        ConversationId::as_str(&view.conversation_id),
        view.revision
    )
    .fetch_optional(connection)
    .await?;
    Ok(engine.flatten())
}

#[derive(sqlx::FromRow)]
struct AroundRow {
    paused_by: Option<String>,
    paused_at: Option<Timestamp>,
    living: i64,
    slots: i64,
    busy: i64,
    handed_at: Option<Timestamp>,
    hand_tries: i32,
    holder_seen_at: Option<Timestamp>,
    holder_stopping: bool,
    superseded: bool,
    gone: bool,
    user_requires_keys: bool,
}

/// Reads what lies around a job. Counts of the backlog stop at 1,000. Runs with their persons' own keys take no slot.
async fn surroundings(
    connection: &mut PgConnection,
    view: &JobView,
    now: Timestamp,
) -> Result<Surroundings, sqlx::Error> {
    let row: AroundRow = query_as!(
        "jobs/around.sql",
        now,
        LIVING,
        view.job.queue.as_str(),
        process_of(&view.job),
        UserId::as_str(&view.user_id),
        ConversationId::as_str(&view.conversation_id),
        view.revision,
        now - SILENT_AFTER,
        view.job.id.as_str()
    )
    .fetch_one(&mut *connection)
    .await?;
    let ahead = match view.job.state {
        State::Queued { ready_at } if ready_at <= now => {
            // Jobs of its queue that are older.
            query_scalar!("jobs/ahead.sql", view.job.queue.as_str(), now, ready_at, view.job.id.as_str())
                .fetch_one(connection)
                .await?
        }
        _ => 0,
    };
    let count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Surroundings {
        paused: row.paused_by.zip(row.paused_at),
        living: count(row.living),
        slots: count(row.slots),
        busy: count(row.busy),
        ahead: count(ahead),
        handed_at: row.handed_at,
        hand_tries: u32::try_from(row.hand_tries).unwrap_or(0),
        holder_seen_at: row.holder_seen_at,
        holder_stopping: row.holder_stopping,
        superseded: row.superseded,
        conversation_gone: row.gone,
        user_requires_keys: row.user_requires_keys,
    })
}

/// The process of the worker that holds a job's lease.
fn process_of(job: &Job) -> Option<&str> {
    job.state.lease()?.worker.0.rsplit_once('/').map(|(process, _)| process)
}
