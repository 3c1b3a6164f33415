//! The list of jobs: filtered by its address, a page at a time.

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use job::{FailureCode, Timestamp};
use ledger::{JobView, Ledger};

use super::{
    Console,
    asked::{Asked, STATUSES},
    fault::Fault,
    live::live_page,
    orders::waits,
    page::{Frame, render},
    typed::Query,
    visitor::Visitor,
    words::{Moment, segment, status},
};
use crate::commands::jobs::show;

/// Jobs on a page.
const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "jobs.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    asked: Asked,
    statuses: Vec<(&'static str, &'static str)>,
    codes: Vec<&'static str>,
    jobs: Vec<Row>,
    next: Option<String>,
    is_first: bool,
    replay: Option<String>,
    /// Jobs of this page wait for a moment: the filter that finds them.
    run_now: Option<String>,
}

struct Row {
    id: String,
    status: &'static str,
    words: &'static str,
    is_settled: bool,
    code: &'static str,
    queue: String,
    failed: u32,
    crashed: u32,
    generation: i64,
    admitted: Moment,
    user: String,
}

/// `GET /console/jobs`.
pub(super) async fn list(
    visitor: Visitor,
    State(console): State<Console>,
    Query(asked): Query<Asked>,
) -> Result<Response, Fault> {
    if !asked.job.trim().is_empty() {
        let job = segment(asked.job.trim());
        return Ok(Redirect::to(&format!("/console/jobs/{job}")).into_response());
    }
    let frame = Frame::of(visitor, "jobs", "Jobs").live(format!("jobs?{}", asked.query_here()));
    let frame = frame.after(Some(&asked.done));
    Ok(render(&console.in_time(page(&console.ledger, frame, asked)).await?))
}

live_page!(Page);

/// The page as it is now.
pub(super) async fn page(ledger: &Ledger, frame: Frame, request: Asked) -> Result<Page, Fault> {
    let now = ledger.now().await?;
    let filter = request.filter(now, PAGE)?;
    let page = ledger.jobs_page(&filter).await?;
    Ok(Page {
        frame,
        statuses: STATUSES.map(|name| (name, status(name))).into(),
        codes: FailureCode::ALL.iter().map(|code| code.as_str()).collect(),
        jobs: page.jobs.iter().map(|view| row(view, filter.admitted_at(view), now)).collect(),
        next: page.next.as_ref().map(|place| request.query_behind(place)),
        is_first: request.after.is_empty(),
        replay: (filter.is_dead() && !page.jobs.is_empty()).then(|| request.query()),
        run_now: page.jobs.iter().any(|view| waits(&view.job, now)).then(|| request.query()),
        asked: request,
    })
}

fn row(view: &JobView, admitted: Timestamp, now: Timestamp) -> Row {
    let name = view.job.state.status();
    Row {
        id: view.job.id.to_string(),
        status: name,
        words: status(name),
        is_settled: view.job.settled_at.is_some(),
        code: show::code(&view.job).unwrap_or(""),
        queue: view.job.queue.to_string(),
        failed: view.job.attempts,
        crashed: view.job.crashes,
        generation: view.job.generation.0,
        admitted: Moment::new(admitted, now),
        user: view.user_id.to_string(),
    }
}
