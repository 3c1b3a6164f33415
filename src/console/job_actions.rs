//! What an operator does to one job: replay, dismiss, run now, or cancel it.

use axum::response::Redirect;
use job::{JobId, State as JobState};
use ledger::{Answer, Operation};

use super::{Acted, Acting, Asked, Confirm, Console, Fault, Visitor, extract::Path, job::find};
use crate::commands::jobs::words;

pub(super) async fn ask(
    visitor: Visitor,
    console: Console,
    Path((id, change)): Path<(String, String)>,
) -> Asked {
    let page = find(&console, &id).await?;
    let recorded = page.view.checkpoints.len();
    let (title, button, sentences) = match change.as_str() {
        "replay" => (
            "Replay this job?",
            "Replay",
            vec![
                "The job is queued again with the next generation, and its conversation goes back to processing."
                    .to_owned(),
                match recorded {
                    0 => "No stage has recorded anything: all of them are run and paid for.".to_owned(),
                    1 => "One stage has recorded its output, which is kept and not paid for again.".to_owned(),
                    many => {
                        format!("{many} stages have recorded their outputs, which are kept and not paid for again.")
                    }
                },
            ],
        ),
        "discard" => (
            "Dismiss this dead letter?",
            "Dismiss",
            vec!["The dead letter stays as it is, and needs no more attention.".to_owned()],
        ),
        "run-now" => (
            "Run this job now?",
            "Run now",
            vec![
                "Its wait ends now, under the next generation. Attempts are kept, and a model server is asked even \
                 where its circuit is open."
                    .to_owned(),
            ],
        ),
        "cancel" => (
            "Cancel this job?",
            "Cancel the job",
            vec![
                "The job becomes a dismissed dead letter, cancelled_by_operator; its conversation is failed and \
                 discarded, and endpoints are notified. A run loses its lease and stops at its next checkpoint."
                    .to_owned(),
                "A replay of this job begins it anew; no bulk replay takes it along.".to_owned(),
            ],
        ),
        _ => return Err(no_page()),
    };
    Ok(Confirm {
        sentences: std::iter::once(page.why.to_string()).chain(sentences).collect(),
        subject: id,
        action: format!("/console/jobs/{}/{change}", page.view.job.id),
        button,
        back: format!("/console/jobs/{}", page.view.job.id),
        offers_scratch: change == "replay" && recorded > 0,
        ..Confirm::new(visitor, "jobs", title)
    })
}

pub(super) async fn act(
    console: Console,
    Path((id, change)): Path<(String, String)>,
    acting: Acting,
) -> Acted {
    let from_scratch = acting.field("from_scratch").is_some();
    let (operation, done) = match change.as_str() {
        "replay" => (Operation::Replay { from_scratch }, "replayed"),
        "discard" => (Operation::Discard, "dismissed"),
        "run-now" => (Operation::RunNow, "hurried"),
        "cancel" => (Operation::Cancel, "job-cancelled"),
        _ => return Err(no_page().into()),
    };
    let (job, action, operations) = (JobId::from_text(id.as_str()), acting.action()?, console.of_job(&id));
    match operations.db().in_time(operations.operate(&job, operation, &action)).await? {
        Answer::Granted { job, .. } => {
            let done = if job.state == JobState::BlockedByok { "parked" } else { done };
            Ok(Redirect::to(&format!("/console/jobs/{}?done={done}", job.id)))
        }
        Answer::Refused(refusal) => Err(Fault::Refused(format!("Job {id}: {}.", words(refusal))).into()),
        Answer::Missing => Err(Fault::Missing(format!("There is no job {id}.")).into()),
    }
}

fn no_page() -> Fault {
    Fault::Missing("There is no such page.".to_owned())
}
