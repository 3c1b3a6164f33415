//! What an operator orders of live jobs: that they run now, or that one ends.

use axum::{
    extract::State,
    response::{Redirect, Response},
};
use job::{JobId, Timestamp};
use ledger::Operation;
use operations::{JobFilter, Operations, OrderOfMany};

use super::{
    Console,
    auth::Acting,
    confirm::Confirm,
    fault::{Fault, Undone},
    filter_form::FilterForm,
    job::read,
    one::granted,
    typed::{Path, Query},
    visitor::Visitor,
    words::count,
};
use crate::commands::jobs::order_id;

/// Waiting jobs that one form makes due; what is left is found by the next.
const AT_ONCE: i64 = 1_000;

/// `GET /console/jobs/{id}/run-now`.
pub(super) async fn ask_run_now(
    visitor: Visitor,
    State(console): State<Console>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let page = console.in_time(read(&console.operations, &id)).await?;
    Ok(Confirm {
        sentences: vec![
            page.why.to_string(),
            "Its wait ends now, under the next generation. Attempts are kept, and a model server is asked even where its \
             circuit is open."
                .to_owned(),
        ],
        subject: id,
        action: format!("/console/jobs/{}/run-now", page.view.job.id),
        button: "Run now",
        back: format!("/console/jobs/{}", page.view.job.id),
        ..Confirm::new(visitor, "jobs", "Run this job now?")
    }
    .page())
}

/// `GET /console/jobs/{id}/cancel`.
pub(super) async fn ask_cancel(
    visitor: Visitor,
    State(console): State<Console>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let page = console.in_time(read(&console.operations, &id)).await?;
    Ok(Confirm {
        sentences: vec![
            page.why.to_string(),
            "The job becomes a dismissed dead letter, cancelled_by_operator; its conversation is failed and discarded, and \
             endpoints are notified. A run loses its lease and stops at its next checkpoint."
                .to_owned(),
            "A replay of this job begins it anew; no bulk replay takes it along.".to_owned(),
        ],
        subject: id,
        action: format!("/console/jobs/{}/cancel", page.view.job.id),
        button: "Cancel the job",
        back: format!("/console/jobs/{}", page.view.job.id),
        ..Confirm::new(visitor, "jobs", "Cancel this job?")
    }
    .page())
}

/// `POST /console/jobs/{id}/run-now`.
pub(super) async fn run_now(
    State(console): State<Console>,
    Path(id): Path<String>,
    acting: Acting,
) -> Result<Redirect, Undone> {
    let (job, action, ledger) = (JobId::from_text(id.as_str()), acting.action()?, &console.operations);
    let job =
        granted(&id, ledger.db().in_time(ledger.operate(&job, Operation::RunNow, &action, None)).await?)?;
    Ok(Redirect::to(&format!("/console/jobs/{}?done=hurried", job.id)))
}

/// `POST /console/jobs/{id}/cancel`.
pub(super) async fn cancel(
    State(console): State<Console>,
    Path(id): Path<String>,
    acting: Acting,
) -> Result<Redirect, Undone> {
    let (job, action, ledger) = (JobId::from_text(id.as_str()), acting.action()?, &console.operations);
    let job =
        granted(&id, ledger.db().in_time(ledger.operate(&job, Operation::Cancel, &action, None)).await?)?;
    Ok(Redirect::to(&format!("/console/jobs/{}?done=job-cancelled", job.id)))
}

/// `GET /console/run-now`.
pub(super) async fn ask_many(
    visitor: Visitor,
    State(console): State<Console>,
    Query(form): Query<FilterForm>,
) -> Result<Response, Fault> {
    let operations = &console.operations;
    let filter = queued(&form, operations.db().in_time(operations.db().now()).await?)?;
    let form = form.fixed(&filter);
    let (found, more) = console.in_time(waiting(operations, filter)).await?;
    if found.is_empty() {
        return Err(Fault::Missing(
            "No job that is found waits for a moment: nothing is to be hurried.".to_owned(),
        ));
    }
    let several = if found.len() == 1 { "waiting job" } else { "waiting jobs" };
    let title = format!("Run {} {several} now?", count(found.len() as i64));
    let rest = more.then(|| {
        "More wait than are taken at once: the same form finds the older ones afterwards.".to_owned()
    });
    Ok(Confirm {
        sentences: [
            "Their waits end now, each under its next generation. Attempts are kept, and a model server is asked even \
             where its circuit is open."
                .to_owned(),
        ]
        .into_iter()
        .chain(rest)
        .collect(),
        action: "/console/run-now".to_owned(),
        hidden: form.pairs().into_iter().map(|(name, value)| (name, value.to_owned())).collect(),
        button: "Run now",
        back: format!("/console/jobs?{}", form.query()),
        ..Confirm::new(visitor, "jobs", title)
    }
    .page())
}

/// `POST /console/run-now`. One order in the audit, and a transaction per job; one that has begun meanwhile is left alone.
pub(super) async fn run_many_now(State(console): State<Console>, acting: Acting) -> Result<Redirect, Undone> {
    let (action, operations) = (acting.action()?, &console.operations);
    let form = FilterForm::of(acting.fields());
    let filter = queued(&form, operations.db().in_time(operations.db().now()).await?)?;
    let words = format!("waiting jobs, {}", form.words("all"));
    let (found, _) = console.in_time(waiting(operations, filter)).await?;
    if found.is_empty() {
        return Ok(Redirect::to("/console/jobs?status=queued&done=unchanged"));
    }
    let meant = (words.as_str(), found.len() as u64);
    let begun = operations.begin_order(order_id(), OrderOfMany::RunNow, meant, &action);
    let mut given = operations.db().in_time(begun).await?;
    for job in found {
        operations.db().in_time(operations.give_order(&mut given, &job)).await?;
    }
    operations.db().in_time(operations.end_order(&given)).await?;
    let word = if given.counts().0 > 0 { "all-hurried" } else { "unchanged" };
    Ok(Redirect::to(&format!("/console/jobs?status=queued&done={word}")))
}

fn queued(form: &FilterForm, now: Timestamp) -> Result<JobFilter, Fault> {
    let filter = form.filter(now, AT_ONCE)?;
    Ok(JobFilter { status: Some("queued".to_owned()), waits_at: Some(now), after: None, ..filter })
}

/// The newest waiting jobs that `filter` finds, and whether there are more.
async fn waiting(operations: &Operations, filter: JobFilter) -> Result<(Vec<JobId>, bool), Fault> {
    let page = operations.jobs_page(&filter).await?;
    let more = page.next.is_some();
    Ok((page.jobs.into_iter().map(|view| view.job.id).collect(), more))
}
