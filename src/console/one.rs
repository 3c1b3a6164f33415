//! What an operator does to one job: replay it, or dismiss it.

use axum::{
    extract::State,
    response::{Redirect, Response},
};
use job::{Job, JobId, Refusal, State as JobState};
use ledger::Operation;

use super::{
    Console,
    auth::Acting,
    confirm::Confirm,
    fault::{Fault, Undone},
    job::find,
    typed::Path,
    visitor::Visitor,
};
use crate::commands::jobs::words;

/// `GET /console/jobs/{id}/replay`.
pub(super) async fn ask_replay(
    visitor: Visitor,
    State(console): State<Console>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let page = find(&console, &id).await?;
    let recorded = page.view.checkpoints.len();
    let kept = match recorded {
        0 => "No stage has recorded anything: all of them are run and paid for.".to_owned(),
        1 => "One stage has recorded its output, which is kept and not paid for again.".to_owned(),
        many => format!("{many} stages have recorded their outputs, which are kept and not paid for again."),
    };
    Ok(Confirm {
        sentences: vec![
            page.why.to_string(),
            "The job is queued again with the next generation, and its conversation goes back to processing."
                .to_owned(),
            kept,
        ],
        subject: id,
        action: format!("/console/jobs/{}/replay", page.view.job.id),
        button: "Replay",
        back: format!("/console/jobs/{}", page.view.job.id),
        offers_scratch: recorded > 0,
        ..Confirm::new(visitor, "jobs", "Replay this job?")
    }
    .page())
}

/// `GET /console/jobs/{id}/discard`.
pub(super) async fn ask_discard(
    visitor: Visitor,
    State(console): State<Console>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let page = find(&console, &id).await?;
    Ok(Confirm {
        sentences: vec![
            page.why.to_string(),
            "The dead letter stays as it is, and needs no more attention.".to_owned(),
        ],
        subject: id,
        action: format!("/console/jobs/{}/discard", page.view.job.id),
        button: "Dismiss",
        back: format!("/console/jobs/{}", page.view.job.id),
        ..Confirm::new(visitor, "jobs", "Dismiss this dead letter?")
    }
    .page())
}

/// `POST /console/jobs/{id}/replay`.
pub(super) async fn replay(
    State(console): State<Console>,
    Path(id): Path<String>,
    acting: Acting,
) -> Result<Redirect, Undone> {
    let (job, action, operations) = (JobId::from_text(id.as_str()), acting.action()?, console.of_job(&id));
    let operation = Operation::Replay { from_scratch: acting.field("from_scratch").is_some() };
    let answer = operations.db().in_time(operations.operate(&job, operation, &action, None)).await?;
    let job = granted(&id, answer)?;
    let word = if matches!(job.state, JobState::BlockedByok) { "parked" } else { "replayed" };
    Ok(Redirect::to(&format!("/console/jobs/{}?done={word}", job.id)))
}

/// `POST /console/jobs/{id}/discard`.
pub(super) async fn discard(
    State(console): State<Console>,
    Path(id): Path<String>,
    acting: Acting,
) -> Result<Redirect, Undone> {
    let (job, action, operations) = (JobId::from_text(id.as_str()), acting.action()?, console.of_job(&id));
    let answer = operations.db().in_time(operations.operate(&job, Operation::Discard, &action, None)).await?;
    let job = granted(&id, answer)?;
    Ok(Redirect::to(&format!("/console/jobs/{}?done=dismissed", job.id)))
}

/// The job afterwards, or a page that says why not.
pub(super) fn granted(id: &str, answer: Option<Result<Job, Refusal>>) -> Result<Job, Fault> {
    match answer {
        None => Err(Fault::Missing(format!("There is no job {id}."))),
        Some(Err(refusal)) => Err(Fault::Refused(format!("Job {id}: {}.", words(refusal)))),
        Some(Ok(job)) => Ok(job),
    }
}
