//! One job, with everything that explains it, and never a word of its person's.

use crate::commands::{jobs::show, times::time, users::limits::words as budget_words};
use askama::Template;
use job::{Job, JobId, State as JobState, Timestamp};
use ledger::Event;
use operations::{JobPage, Operations};
use store::UserBudget;

use super::{
    After, Console, Fault, Frame, Moment, Query, Shown, Visitor,
    audit::Line,
    chart::{self, Chart},
    extract::Path,
    in_time, live_page,
    words::{Sentence, millis, status},
};

#[derive(Template)]
#[template(path = "job.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    id: String,
    status: &'static str,
    words: &'static str,
    is_settled: bool,
    is_dead: bool,
    /// It waits for a moment, and need not.
    waits: bool,
    is_live: bool,
    code: Option<&'static str>,
    why: Sentence,
    cause: Option<Sentence>,
    guard: &'static str,
    /// The way of a job: (status, words, whether it is here).
    way: Vec<(&'static str, &'static str, bool)>,
    facts: Vec<(&'static str, String)>,
    admitted: Moment,
    origin: String,
    is_cut: bool,
    edges: Vec<Edge>,
    /// The stages of the newest run that has any: (name, bar, how long).
    stages: Vec<(String, Chart, String)>,
    actions: Vec<Line>,
}

struct Edge {
    event: Event,
    at: Moment,
    from: &'static str,
    to: &'static str,
    again: Option<Moment>,
    stages: Vec<(String, String)>,
}

pub(super) async fn show(
    visitor: Visitor,
    console: Console,
    Path(id): Path<String>,
    Query(after): Query<After>,
) -> Shown {
    let frame = Frame::of(visitor, "jobs", format!("Job {id}"));
    let frame = frame.live().after(after.done.as_deref());
    let shard = &console.of_job(&id);
    console.show(frame, |frame| in_time(shard, page(shard, frame, id))).await
}

live_page!(Page);

async fn page(operations: &Operations, frame: Frame, id: String) -> Result<Page, Fault> {
    let page = read(operations, &id).await?;
    let budget = operations.store().user_budget(&page.view.user_id).await?;
    let (job, at) = (&page.view.job, page.at);
    let name = job.state.status();
    Ok(Page {
        frame,
        status: name,
        words: status(name),
        is_settled: job.settled_at.is_some(),
        waits: waits(job, at),
        is_live: !job.state.is_terminal(),
        is_dead: matches!(job.state, JobState::DeadLetter { .. }),
        code: show::code(job),
        why: Sentence::new(page.why.to_string()),
        cause: show::cause_words(&page).map(Sentence::new),
        guard: page.why.guard(),
        way: way(name),
        facts: facts(&page, budget.as_ref()),
        admitted: Moment::new(page.view.created_at, at),
        origin: job.origin.to_string(),
        is_cut: page.history.first().is_some_and(|first| first.version > 2),
        stages: stages(&page.history),
        edges: page.history.into_iter().map(|event| edge(event, at)).collect(),
        actions: page.actions.into_iter().map(|action| Line::new(action, at)).collect(),
        id,
    })
}

/// A bar per stage, as long as its share of the longest one.
fn stages(history: &[Event]) -> Vec<(String, Chart, String)> {
    let run = history.iter().rev().find(|event| !event.stages.is_empty());
    let stages = run.map(|event| event.stages.as_slice()).unwrap_or_default();
    let part = |took: &u32| i32::try_from(*took).unwrap_or(i32::MAX);
    let longest = stages.iter().map(|(_, took)| part(took)).max().unwrap_or(0);
    let bar = |(name, took): &(String, u32)| {
        (
            name.replace('_', " "),
            chart::share("Share of the longest stage", part(took), longest),
            millis(f64::from(*took)),
        )
    };
    stages.iter().map(bar).collect()
}

/// A job's page, or 404, of the shard that has it.
pub(super) async fn find(console: &Console, id: &str) -> Result<JobPage, Fault> {
    let shard = &console.of_job(id);
    in_time(shard, read(shard, id)).await
}

async fn read(operations: &Operations, id: &str) -> Result<JobPage, Fault> {
    let page = operations.job_page(&JobId::from_text(id.to_owned())).await?;
    page.ok_or_else(|| Fault::Missing(format!("There is no job {id}.")))
}

/// Whether the job waits for a moment that has not come.
pub(super) fn waits(job: &Job, now: Timestamp) -> bool {
    matches!(job.state, JobState::Queued { ready_at } if ready_at > now)
}

/// The stations, with the present one marked; where a job is parked, that is on its way.
fn way(here: &str) -> Vec<(&'static str, &'static str, bool)> {
    let mut way = vec!["queued", "leased"];
    match here {
        "blocked_byok" => way.insert(0, "blocked_byok"),
        "dead_letter" => way.push("dead_letter"),
        _ => {}
    }
    if here != "dead_letter" {
        way.push("completed");
    }
    way.into_iter().map(|name| (name, status(name), name == here)).collect()
}

fn facts(page: &JobPage, budget: Option<&UserBudget>) -> Vec<(&'static str, String)> {
    let (view, job) = (&page.view, &page.view.job);
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let mut facts = vec![
        ("User", view.user_id.to_string()),
        ("Conversation", format!("{}, revision {}", view.conversation_id, view.revision)),
        ("Queue", job.queue.to_string()),
        ("Generation, epoch", format!("{}, {}", job.generation, job.epoch)),
        ("Failed, crashed, begun", format!("{}, {}, {}", job.attempts, job.crashes, job.runs)),
        ("Own keys", if job.requires_keys { "required" } else { "not required" }.to_owned()),
        ("Engine", page.engine.clone().unwrap_or_else(|| "none yet".to_owned())),
        ("Model calls", show::spent_words(&page.spent)),
        ("Recorded stages", or_none(view.checkpoints.join(", "))),
        ("Looked at next", view.reconcile_after_at.map_or("never by itself".to_owned(), time)),
    ];
    facts.extend(page.speech.iter().map(|usage| ("Speech", show::speech_words(usage))));
    facts.extend(budget.map(|budget| ("User's budget", budget_words(budget))));
    facts.extend(view.trace.map(|trace| ("Trace", trace.trace_id())));
    facts
}

fn edge(event: Event, now: Timestamp) -> Edge {
    let ahead = event.ready_at.filter(|ready_at| *ready_at > event.at);
    Edge {
        at: Moment::new(event.at, now),
        from: status(&event.from),
        to: status(&event.to),
        again: ahead.map(|ready_at| Moment::new(ready_at, now)),
        stages: event.stages.iter().map(|(stage, took)| (stage.clone(), millis(f64::from(*took)))).collect(),
        event,
    }
}
